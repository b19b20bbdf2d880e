"""Whole tables of people whose attributes are unknown: one that agrees with everything, and what of it is proved."""
