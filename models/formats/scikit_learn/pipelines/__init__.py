"""Pipelines of scikit-learn undone: the splits of their models in the columns and values of the user's table."""
