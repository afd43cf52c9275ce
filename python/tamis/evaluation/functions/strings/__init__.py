"""Rules for functions of strings and for patterns."""
