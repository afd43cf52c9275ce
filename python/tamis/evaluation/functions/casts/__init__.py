"""Rules for casts between types."""
