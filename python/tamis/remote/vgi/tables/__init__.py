"""Reading a table of a catalog, which is the union of its branches."""
