"""Waseda and others (2025): private random trees."""
