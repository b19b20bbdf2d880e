"""Files that are read and written: JSON, results, locks, temporary folders."""
