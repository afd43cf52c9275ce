"""Ranges of column values that follow from predicates over functions of the columns."""
