"""Filter documents of DuckDB, which its Airport extension sends to servers.

    {"filters": [NODE, …], "column_binding_names_by_index": ["title", "score"]}

The filters are conjuncts in DuckDB's own serialization of bound expressions. Versions of DuckDB
differ in how they write them. Both of these forms are read:

    up to 1.5   BOUND_COMPARISON left, right; BOUND_BETWEEN input, lower, upper; BOUND_CAST child
    from 2.0    BOUND_FUNCTION of type COMPARE_*, COMPARE_BETWEEN, OPERATOR_CAST; qname.path

    document              JSON text with NaN and Infinity, and the shapes of a document's parts
    types                 DuckDB's types: the line of their values, and the casts that keep values
    arrow_types           the types of an Arrow schema as DuckDB's types
    column_references     names behind bindings, and fields of structs
    constants             values of each type
    constant_comparisons  comparing a column with a constant of any type, without rounding
    nanoseconds           columns finer than a microsecond
    comparisons           comparisons and IN, depending on their operands
    node                  the kind of a node, and the interface that its rule uses
    predicates            rules for nodes that are true, false or NULL
    operands              rules for nodes that are values
    reader                the whole document; nodes that are not understood become Opaque
    opaque_nodes          SQL text of nodes that are not understood
    writer                the reverse: expressions as a document
    sql_predicate         predicates as SQL text
"""

from tamis.wire.duckdb.reader import from_duckdb
from tamis.wire.duckdb.writer import to_duckdb

__all__ = ["from_duckdb", "to_duckdb"]
