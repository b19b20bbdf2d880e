"""Presolve: cells merged into groups, independent parts, simplified rows, and closed forms."""
