"""Policies: what a release may disclose, in writing; checks of it, and the record of them."""
