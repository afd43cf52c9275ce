"""What a query costs with tamis on, as a ratio to the same query with it off."""
