"""Presolve: a program is merged, split into independent parts and solved in closed form where it can be."""
