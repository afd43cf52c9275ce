"""What travels between Spark and Python: messages, and the documents of expressions."""
