"""The `maxent/1` format: reading and writing of documents, and checks of their statements."""
