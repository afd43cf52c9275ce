"""Filter documents of DuckDB, as its Airport extension sends them to servers.

    {"filters": [NODE, …], "column_binding_names_by_index": ["title", "score"]}

The filters are conjuncts: DuckDB's own serialisation of bound expressions. Its versions write
them differently, and both of these are read:

    up to 1.5   BOUND_COMPARISON left, right; BOUND_BETWEEN input, lower, upper; BOUND_CAST child
    from 2.0    BOUND_FUNCTION of type COMPARE_*, COMPARE_BETWEEN, OPERATOR_CAST; qname.path

    document    JSON text, NaN and Infinity, what a document consists of
    types       DuckDB's types: which line a value lies on, which casts keep it
    arrow       the types of a schema in DuckDB's terms
    columns     names behind bindings, fields of structs
    constants   values, type by type
    exact       a column against a constant of any type, without rounding
    nanoseconds columns finer than a microsecond
    comparing   comparisons and IN, by what stands on their sides
    functions   functions whose meaning is Spark's
    reader      the kind of a node, and what its rule is given
    predicates  rules of nodes that are true, false or NULL
    operands    rules of nodes that are values
    nodes       the document as a whole; what is not understood becomes Opaque
    text        SQL text of what is not understood
    writer      the other way: expressions as a document
"""

from tamis.wire.duckdb.nodes import from_duckdb
from tamis.wire.duckdb.writer import to_duckdb

__all__ = ["from_duckdb", "to_duckdb"]
