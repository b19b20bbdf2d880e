"""Text that Weka prints of its classifiers."""
