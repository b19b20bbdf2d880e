"""What expressions of PMML compute of one column of a table."""
