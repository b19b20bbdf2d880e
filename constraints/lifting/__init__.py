"""Lifting: a part becomes a smooth program over few aggregate variables."""
