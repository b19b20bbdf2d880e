"""Friedman, Schuster and Wolff (2006): k-anonymous trees on Adult."""
