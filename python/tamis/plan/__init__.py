"""Decide which files a scan needs, given its conjuncts and its goal."""
