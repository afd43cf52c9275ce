"""The statistics of columns that a worker reports.

    column_name  min    max    has_null  has_not_null  distinct_count  max_string_length
    n            0      99     false     true          100             NULL

The bounds are values of a union. They are dropped where they prove nothing for Spark:

- another type than that of the column, NaN, or a minimum above the maximum
- the maximum of FLOAT and DOUBLE: workers may leave out NaN, which is the greatest value in Spark
- the maximum of texts of 8 bytes and more that may have been cut: DuckDB keeps 8 bytes of a bound
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tamis.remote.arrow_form import converted
from tamis.remote.contract import ColumnStatistics
from tamis.remote.vgi.protocol.framing import READ_FAILURES, MalformedMessage, batch_of
from tamis.remote.vgi.protocol.record import single_row
from tamis.remote.vgi.protocol.records import STATISTICS

__all__ = ["column_statistics"]

_KEPT_BYTES: Final = 8


def column_statistics(
    body: bytes, columns: pa.Schema, wanted: Collection[str]
) -> dict[str, ColumnStatistics]:
    """Return the statistics of these columns.

    Raises:
        MalformedMessage: The bytes are not statistics.
    """
    batch = batch_of(body, "the statistics")
    known: dict[str, ColumnStatistics] = {}
    for place in range(batch.num_rows):
        row = batch.slice(place, 1)
        values = single_row(STATISTICS, row, "the statistics")
        name = values["column_name"]
        if name not in wanted or len(columns.get_all_field_indices(name)) != 1:
            continue
        if name in known:
            raise MalformedMessage(f"the statistics have the column {name} twice")
        data_type = columns.field(name).type
        lower, upper = (_bound(row, each, data_type) for each in ("min", "max"))
        longest = (
            None if values["contains_unicode"] in (None, True) else values["max_string_length"]
        )
        if upper is not None and _may_be_exceeded(upper, data_type, longest):
            upper = None
        if lower is not None and upper is not None and not _is_ordered(lower, upper):
            lower = upper = None
        has_values = values["has_not_null"]
        if has_values is False and not (lower is None and upper is None):
            has_values = lower = upper = None
        distinct = values["distinct_count"]
        known[name] = ColumnStatistics(
            lower,
            upper,
            values["has_null"],
            has_values,
            distinct if distinct is not None and distinct >= 0 else None,
        )
    return known


def _bound(row: pa.RecordBatch, side: str, data_type: Any) -> pa.Scalar | None:
    """Return a bound in the type in which Spark reads the column; None if it is unusable."""
    places = row.schema.get_all_field_indices(side)
    if len(places) != 1:
        return None
    try:
        cell = row.column(places[0])[0]
        value = cell.value if isinstance(cell, pa.UnionScalar) else cell
        if value is None or not value.is_valid or value.type != _plain(data_type):
            return None
        bound = converted(pa.array([value.as_py()], value.type))[0]
    except (*READ_FAILURES, TypeError):
        return None
    is_nan = pa.types.is_floating(bound.type) and pc.is_nan(bound).as_py()
    return bound if bound.is_valid and not is_nan else None


def _plain(data_type: Any) -> Any:
    return data_type.value_type if pa.types.is_dictionary(data_type) else data_type


def _may_be_exceeded(upper: pa.Scalar, data_type: Any, longest: int | None) -> bool:
    if pa.types.is_floating(data_type):
        return True
    if not (pa.types.is_string(upper.type) or pa.types.is_binary(upper.type)):
        return False
    size = len(upper.as_buffer())
    return size >= _KEPT_BYTES and (longest is None or longest > size)


def _is_ordered(lower: pa.Scalar, upper: pa.Scalar) -> bool:
    try:
        return bool(pc.less_equal(lower, upper).as_py())
    except READ_FAILURES:
        return False
