"""Filter documents of VGI, encoding `vgi.filters.v2`.

    container    the Arrow batch: its metadata, the JSON text and the typed payloads
    document     the JSON text: snapshots and deltas, with exact property sets and limits
    payloads     Arrow values as constants
    coercion     the type in which DuckDB compares two operands
    row_values   values that only rows have, such as list_contains
    rowwise      nodes that are evaluated row by row, because no statistics describe them
    nanoseconds  comparisons of timestamps finer than a microsecond
    structure    the properties and references of nodes
    reader       the interface of the rules for nodes
    sets         the sets of IN
    operands     nodes that are values
    predicates   nodes that are true, false or NULL
    filter_state the filters that are in force in a scan

A document that breaks a rule of the encoding is `Malformed`, and is refused as a whole. A predicate
that follows the rules but cannot be evaluated exactly has no expression.
"""

from tamis.wire.vgi.document import Malformed, Mode
from tamis.wire.vgi.filter_state import Filters, Predicate

__all__ = ["Filters", "Malformed", "Mode", "Predicate"]
