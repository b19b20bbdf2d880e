"""Branches of a split merged along a hierarchy of its attribute, as places of the tree that is searched."""
