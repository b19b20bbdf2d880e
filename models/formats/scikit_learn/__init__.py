"""Fitted scikit-learn models as releases."""
