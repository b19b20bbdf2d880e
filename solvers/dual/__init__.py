"""The dual of the linear entropy program: Newton's method, overlapping counts, bounds and scaling."""
