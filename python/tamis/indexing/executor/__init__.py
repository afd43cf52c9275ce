"""The code that executors run to read footers. It imports pyarrow and no Spark."""
