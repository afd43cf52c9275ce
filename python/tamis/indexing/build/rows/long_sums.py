"""Sums of decimals and whole numbers, which Spark adds up as LONG.

Spark's sum of DECIMAL(12, 2) is a DECIMAL(22, 2). It reads and writes the 16 bytes of that sum for
every row. The unscaled values are LONG, and so is almost every sum of them:

    value    unscaled   as LONG              as the decimal that Spark's sum has
    1.50     150        150 + 25 = 175       1.75
    0.25     25

Where that fails, because a value or a sum does not fit a LONG, the sum is NULL. The sums are then
computed again as decimals, so that the result is the same in every case. See LongSums and
UnscaledLong in the shim.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.expr.types import MAX_PRECISION, DataType
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.groups import schema_of

__all__ = ["are_incomplete", "as_decimals", "is_decimal_sum", "summed_type"]

_LONG = "BIGINT"
_SIGNS = ("positive", "negative")
#: Spark's sum of decimals has this many digits more than they have.
_MORE_DIGITS = 10


def is_decimal_sum(entry: Entry) -> bool:
    """Return whether an entry is a sum of decimals, whose unscaled values are added up."""
    return entry.kind == "sum" and _type(entry).is_decimal


def are_incomplete(k: int, entry: Entry, table: pa.Table) -> bool:
    """Return whether some sums of entry `k` have to be computed as decimals.

    Args:
        k: The number of the entry in the table.
        entry: The entry.
        table: The result of the SQL of `group_sql.listed_sql`.
    """
    if not is_decimal_sum(entry):
        return False  # Spark's own sum of whole numbers is a LONG as well
    return any(table.column(f"{sign}{k}").null_count for sign in _SIGNS)


def summed_type(entry: Entry) -> str:
    """Return the type of what the shim adds up for an entry of a sum."""
    return entry.type if is_decimal_sum(entry) else _LONG


def as_decimals(k: int, entry: Entry, table: pa.Table) -> pa.Table:
    """Return the table with the sums of entry `k` in the form of `groups.schema_of`."""
    kind = _type(entry)
    if kind.is_decimal:
        digits = min(MAX_PRECISION, (kind.precision or MAX_PRECISION) + _MORE_DIGITS)
        limit = min(10**digits, 2**63)
    else:
        limit = 2**63
    for sign in _SIGNS:
        name = f"{sign}{k}"
        longs = table.column(name).combine_chunks()
        wide = schema_of(entry).field(sign).type
        place = table.column_names.index(name)
        table = table.set_column(place, name, _decimals(longs, limit, wide))
    return table


def _decimals(longs: pa.Array, limit: int, wide: pa.Decimal128Type) -> pa.Array:
    """Return whole numbers as unscaled values of decimals; null if they are beyond the limit."""
    numbers = longs.fill_null(0).to_numpy()
    is_null = np.asarray(longs.is_null()) if longs.null_count else np.zeros(len(longs), np.bool_)
    if limit < 2**63:
        is_null = is_null | (numbers >= limit) | (numbers <= -limit)
    words: npt.NDArray[np.int64] = np.empty((len(numbers), 2), "<i8")
    # the high word of two's complement is -1 for negative numbers
    words[:, 0], words[:, 1] = numbers, numbers >> 63
    validity = pa.py_buffer(np.packbits(~is_null, bitorder="little").tobytes())
    return pa.Array.from_buffers(
        wide, len(numbers), [validity, pa.py_buffer(words.tobytes())], int(is_null.sum())
    )


def _type(entry: Entry) -> DataType:
    kind = DataType.parse(entry.type)
    assert kind is not None
    return kind
