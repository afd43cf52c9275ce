"""The table functions of a worker, and their arguments, rows and statistics."""
