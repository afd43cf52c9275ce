"""The cost of planning by the number of files."""
