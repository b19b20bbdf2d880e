"""The `maxent/1` format: reading and writing documents, and the checks of what one states."""
