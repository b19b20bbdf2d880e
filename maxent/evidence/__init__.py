"""Evidence: what of a disclosure is real, compared with the base rate and with people who were not in the data."""
