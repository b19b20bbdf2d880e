"""Solving a program: parts, starts, attempts, processes, and the checked answer."""
