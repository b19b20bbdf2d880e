"""Tables of people: reading files and DataFrames into coded columns."""
