"""Rules for functions of dates, timestamps and intervals."""
