"""Rules for arithmetic, rounding and elementary functions."""
