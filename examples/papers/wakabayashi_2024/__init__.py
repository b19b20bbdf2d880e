"""Wakabayashi and others (2024): leaf pruning."""
