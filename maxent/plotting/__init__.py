"""Plots, with matplotlib (the extra ``plot``): disclosure of releases, and back ends side by side."""
