"""Rules for user-defined functions, from their declared contracts."""
