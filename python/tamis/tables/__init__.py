"""Adapters from tables of a given format to containers with statistics."""
