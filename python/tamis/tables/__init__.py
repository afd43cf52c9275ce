"""Adapters: from a table of some format to containers with statistics."""
