"""The cost of a query with tamis on, as a ratio to the same query with tamis off."""
