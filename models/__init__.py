"""Releases, their readers and writers, tables of people, inducers, and defenses.

Every public function raises `maxent.InvalidInput`, a ValueError, where an argument or a file is not as it should be: it
names all problems, each with its place, what was expected and what was found. Docstrings do not repeat this.
"""
