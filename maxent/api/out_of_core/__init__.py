"""Estimates, audits and bounds of more people than memory holds, by groups of leaves."""
