"""Files that are read and written: JSON, TOML, protobuf, results, locks, temporary folders."""
