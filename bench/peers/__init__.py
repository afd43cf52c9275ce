"""Files that tamis, Spark's own Parquet source, Iceberg and Delta open for the same predicates."""
