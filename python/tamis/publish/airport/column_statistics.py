"""Statistics of a column, as clients get them: a batch with one row.

Clients prune with them, so bounds are exact or wider. DuckDB's extension also concludes from the
two bounds of a text column how long its values are, and whether they are ASCII. Bounds prove
neither. So the extension gets a greater upper bound: the maximum followed by non-ASCII characters.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from tamis.publish.column_facts import ColumnFacts

__all__ = ["statistics_answer"]

#: DuckDB packs texts of up to 15 bytes into numbers.
_GREATEST_TEXT: Final = "\U0010ffff" * 4
_GREATEST_BYTES: Final = b"\xff" * 16


def statistics_answer(facts: ColumnFacts, data_type: Any, *, is_duckdb: bool) -> bytes:
    """Return the answer of `column_statistics`, an Arrow IPC stream.

    Args:
        facts: What is known of the column.
        data_type: Its type.
        is_duckdb: Whether the client is DuckDB's extension, which needs bounds of text columns.
    """
    minimum, maximum = facts.minimum, _raised(facts, data_type, is_duckdb)
    if minimum is None and is_duckdb:
        minimum = _least(data_type)
    row = {
        "has_not_null": pa.array([facts.can_be_value or facts.can_be_nan]),
        "has_null": pa.array([facts.can_be_null]),
        "distinct_count": pa.array([0], pa.uint64()),  # not known
        "min": _array(minimum, data_type),
        "max": _array(maximum, data_type),
    }
    batch = pa.record_batch(row)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    answer: bytes = sink.getvalue().to_pybytes()
    return answer


def _raised(facts: ColumnFacts, data_type: Any, is_duckdb: bool) -> pa.Scalar | None:
    """Return an upper bound that also holds for what DuckDB concludes from it."""
    if pa.types.is_floating(data_type):
        # NaN is the greatest number
        return pa.scalar(float("nan"), data_type) if facts.can_be_nan else facts.maximum
    if not (pa.types.is_string(data_type) or pa.types.is_binary(data_type)):
        return facts.maximum
    if not is_duckdb:
        return facts.maximum
    end = _GREATEST_TEXT if pa.types.is_string(data_type) else _GREATEST_BYTES
    return pa.scalar(end if facts.maximum is None else facts.maximum.as_py() + end, data_type)


def _least(data_type: Any) -> pa.Scalar | None:
    is_text = pa.types.is_string(data_type) or pa.types.is_binary(data_type)
    return pa.scalar("" if pa.types.is_string(data_type) else b"", data_type) if is_text else None


def _array(value: pa.Scalar | None, data_type: Any) -> pa.Array:
    return pa.nulls(1, data_type) if value is None else pa.repeat(value, 1)
