"""Trees of C5.0: the file of the classifier, and what is printed of it."""
