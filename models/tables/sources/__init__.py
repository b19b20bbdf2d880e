"""Files that tables are read from, batch by batch: CSV, Parquet and Excel, from disk, archives or standard input."""
