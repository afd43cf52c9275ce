"""Statistics of one column over the whole table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from tamis.expr.decimals import from_unscaled
from tamis.expr.nodes import Column
from tamis.expr.types import DataType
from tamis.files.extremes import Containers, extreme
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
    each = [Containers.of(segment.statistics, column) for segment in statistics.segments]
    return ColumnFacts(
        _scalar(extreme(each, is_upper=False), data_type, field.type, is_upper=False),
        _scalar(extreme(each, is_upper=True), data_type, field.type, is_upper=True),
        any(some.have(some.bounds.can_be_null).any() for some in each),
        any(some.have(some.bounds.can_be_nan).any() for some in each),
        any(some.have(some.bounds.can_be_value).any() for some in each),
    )


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
