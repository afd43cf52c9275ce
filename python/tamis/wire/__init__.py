"""The messages and expression documents that Spark and Python exchange."""
