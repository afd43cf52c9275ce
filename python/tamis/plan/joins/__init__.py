"""Ranges and clustering of join keys."""
