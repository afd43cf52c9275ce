"""A server of the S3 protocol, and the jars with which Spark reads from it."""
