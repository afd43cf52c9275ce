"""Arrow values as constants of DuckDB's types."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tamis.wire.duckdb.arrow_types import arrow_logical_type
from tamis.wire.duckdb.constants import ConstantValue
from tamis.wire.duckdb.document import NotUnderstood
from tamis.wire.duckdb.types import MICROSECONDS_PER_DAY, LogicalType

__all__ = ["constants", "plain_array"]

#: Units per microsecond, and microseconds per unit.
_MICROSECONDS: Final = {
    "s": Fraction(1_000_000),
    "ms": Fraction(1_000),
    "us": Fraction(1),
    "ns": Fraction(1, 1_000),
}
#: The ends of the range are infinite times in DuckDB.
_INFINITE: Final = (1 << 63) - 1
_INFINITE_DAY: Final = (1 << 31) - 1


def plain_array(array: pa.Array) -> pa.Array:
    """Return the values of an array without dictionary or run-end encoding."""
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    if pa.types.is_run_end_encoded(array.type):
        return pc.run_end_decode(array)
    return array


def constants(array: pa.Array) -> tuple[list[ConstantValue], LogicalType]:
    """Return the values of an array on the line of their type.

    Raises:
        NotUnderstood: The type has no line, or a time is infinite.

    >>> constants(pa.array([1, None], pa.date32()))[0]
    [Fraction(86400000000, 1), None]
    """
    array = plain_array(array)
    data_type = arrow_logical_type(array.type)
    if data_type.line is None:
        if array.null_count == len(array):
            return [None] * len(array), data_type
        raise NotUnderstood(f"constants of the type {array.type} are not supported")
    return _values(array, data_type), data_type


def _values(array: pa.Array, data_type: LogicalType) -> list[Any]:
    types = pa.types
    if types.is_timestamp(array.type):
        unit = _MICROSECONDS[array.type.unit]
        return _times(array.cast(pa.int64()).to_pylist(), unit, _INFINITE)
    if types.is_date(array.type):
        days = array.cast(pa.date32(), safe=False).cast(pa.int32()).to_pylist()
        return _times(days, Fraction(MICROSECONDS_PER_DAY), _INFINITE_DAY)
    if types.is_integer(array.type) or types.is_decimal(array.type):
        return [None if each is None else Fraction(each) for each in array.to_pylist()]
    if data_type.id == "UUID":
        return list(array.storage.to_pylist())
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError as error:
        raise NotUnderstood("a constant is not UTF-8") from error


def _times(values: list[int | None], unit: Fraction, infinite: int) -> list[Fraction | None]:
    if any(each is not None and abs(each) >= infinite for each in values):
        raise NotUnderstood("infinite times are not supported")
    return [None if each is None else each * unit for each in values]
