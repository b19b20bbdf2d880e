"""A program as text for other tools: LaTeX, Pyomo, NL."""
