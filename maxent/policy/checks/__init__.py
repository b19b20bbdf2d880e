"""The checks that a policy can ask for: a module for each family, and their registry."""
