"""The report for whoever decides: one HTML file with the verdict, the trees, the people and where it all comes from."""
