"""Nodes that are evaluated row by row, as DuckDB does, because no statistics describe them.

    types         the types, and those in which DuckDB compares two values
    values        the values of Arrow arrays as Python values, and the order of values
    casts         conversions that raise an error for values that do not fit
    arithmetic    sums, differences, products and negation
    expressions   the expressions: a value for each row
    reader        from a node to an expression

A value that DuckDB converts in a way that is not reproduced counts as an error, as an overflow
does: a required filter then fails, and an advisory one keeps the row.
"""

from tamis.wire.vgi.rowwise.reader import RowTruth, row_predicate

__all__ = ["RowTruth", "row_predicate"]
