"""Forests in parts: people by cell, that is by the leaves of all trees together, which stands in for the leaf."""
