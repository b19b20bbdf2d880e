"""The dual of the linear entropy program: Newton's method, bounds and scaling."""
