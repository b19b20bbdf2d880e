"""Fitted trees as nodes of a release, in arrays: forests have millions of them."""
