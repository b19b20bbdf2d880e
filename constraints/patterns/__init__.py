"""Whole people where some or all of their attributes are unknown: what they can be like, and what is stated of them."""
