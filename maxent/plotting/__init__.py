"""Plots, with matplotlib (the extra ``plot``): what releases disclose, and back ends side by side."""
