"""Indexes that build themselves: footers of files that no other index describes."""
