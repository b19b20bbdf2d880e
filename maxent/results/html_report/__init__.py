"""The HTML report: one page, for people who decide."""
