"""How rows are read: CSV, Parquet, cell by cell under privacy."""
