"""Reading a table function: its arguments, its scans and their tasks."""
