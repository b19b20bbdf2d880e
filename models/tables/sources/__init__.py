"""Files that tables are read from, batch by batch: CSV and Parquet, from disk, archives or standard input."""
