"""The kinds of constraint: each turns published statements into rows of a program."""
