"""The solution of a program: parts, starting points, attempts, processes, and the checked answer."""
