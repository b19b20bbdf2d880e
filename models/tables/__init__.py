"""Tables of people: files and DataFrames read into coded columns; training records, generalised records, data sets."""
