"""Statistics of one column over the whole table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, Bounds, Flags
from tamis.evaluation.statistics import Statistics
from tamis.expr.decimals import from_unscaled
from tamis.expr.nodes import Column
from tamis.expr.types import DataType
from tamis.publish.table_statistics import TableStatistics
from tamis.wire.duckdb.arrow_types import schema_types
from tamis.wire.duckdb.document import NotUnderstood

__all__ = ["ColumnFacts", "column_facts"]

_MICROSECONDS: Final = {"s": 1_000_000, "ms": 1_000, "us": 1}


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What is known of a column.

    - `minimum`, `maximum`: no value except NULL and NaN is below or above them. None: unknown.
    - `can_be_null`, `can_be_nan`, `can_be_value`: False only if no row has such a value.
    """

    minimum: pa.Scalar | None
    maximum: pa.Scalar | None
    can_be_null: bool
    can_be_nan: bool
    can_be_value: bool


_UNKNOWN: Final = ColumnFacts(None, None, True, True, True)


def column_facts(statistics: TableStatistics, field: pa.Field) -> ColumnFacts:
    """Return what statistics say about a column of the table."""
    try:
        data_type = schema_types(pa.schema([field]))[field.name].data_type
    except NotUnderstood:
        return _UNKNOWN
    column = Column((field.name,), data_type)
    each = [_Containers.of(segment.statistics, column) for segment in statistics.segments]
    return ColumnFacts(
        _scalar(_extreme(each, is_upper=False), data_type, field.type, is_upper=False),
        _scalar(_extreme(each, is_upper=True), data_type, field.type, is_upper=True),
        any(some.have(some.bounds.can_be_null).any() for some in each),
        any(some.have(some.bounds.can_be_nan).any() for some in each),
        any(some.have(some.bounds.can_be_value).any() for some in each),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Containers:
    """Bounds of some files, and which of them may have rows."""

    bounds: Bounds
    filled: Flags

    @staticmethod
    def of(statistics: Statistics, column: Column) -> _Containers:
        empty = statistics.empty()
        filled = NO if empty is None else empty
        return _Containers(
            statistics.bounds(column), ~np.broadcast_to(filled, (statistics.num_containers,))
        )

    def have(self, flags: Flags) -> Flags:
        """Return the flags of files that may have rows."""
        return flags & self.filled


def _extreme(each: list[_Containers], *, is_upper: bool) -> Any:
    """Return the outermost edge of all files that may have values; None if one is unknown."""
    edges = list(_outermost(each, is_upper=is_upper))
    if not edges or None in edges:
        return None
    return max(edges) if is_upper else min(edges)


def _outermost(each: list[_Containers], *, is_upper: bool) -> Iterator[Any]:
    for containers in each:
        bounds = containers.bounds
        some = containers.have(bounds.can_be_value)
        if not some.any():
            continue
        edge = bounds.upper if is_upper else bounds.lower
        known = bounds.upper_known if is_upper else bounds.lower_known
        if edge is None or (known is not None and not (known | ~some).all()):
            yield None
        elif isinstance(edge, np.ndarray):
            values = np.broadcast_to(edge, (len(some),))[some]
            yield (values.max() if is_upper else values.min()).item()
        else:
            values = edge if len(edge) == 1 else edge.filter(pa.array(some))
            extreme = pc.max(values) if is_upper else pc.min(values)
            yield None if values.null_count else extreme.as_py()


def _scalar(value: Any, data_type: DataType, arrow: Any, *, is_upper: bool) -> pa.Scalar | None:
    """Return an edge as a value of the column. None: it is not one."""
    if value is None:
        return None
    try:
        if data_type.is_decimal and isinstance(value, int):
            value = from_unscaled(value, data_type.scale or 0)
        if data_type.name in ("timestamp", "timestamp_ntz"):
            step = _MICROSECONDS[arrow.unit]  # nanoseconds have no statistics
            return pa.scalar(-(-value // step) if is_upper else value // step, pa.int64()).cast(
                arrow
            )
        if data_type.name == "date":
            return pa.scalar(value, pa.int32()).cast(arrow)
        if data_type.name == "string":
            return pa.scalar(value.decode(), arrow)
        return pa.scalar(bool(value) if data_type.name == "boolean" else value, arrow)
    except (pa.ArrowException, ValueError, KeyError, OverflowError, AttributeError, TypeError):
        return None
