"""CAST AS STRING.

Text sorts by its characters, so "10" < "9". The text of a number is known where all values of a
file are the same one; for whole numbers, also where all of them have the same number of digits and
the same sign. Dates and timestamps of four-digit years sort in the same order as their text
(evaluation.functions.temporal.formats).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, Bounds, Flags
from tamis.evaluation.domain.interval import Interval, Numbers, decimal_edge
from tamis.evaluation.functions.strings.byte_rows import joined
from tamis.evaluation.functions.strings.text import text_result
from tamis.expr.types import FLOAT, STRING, DataType

__all__ = ["number_text"]

#: At larger scales, Java writes small decimals with an exponent.
_PLAIN_SCALE = 6
#: Doubles from here on are written with an exponent.
_PLAIN_DOUBLE = 1e7
#: Floats from here on, up to _PLAIN_DOUBLE, are written with a single digit after the point.
_ONE_DIGIT_FLOAT = 2.0**20
_QUARTERS = pa.array([b".0", b".25", b".5", b".75"], pa.large_binary())


def number_text(x: Interval) -> Bounds | None:
    """Return bounds of a number or boolean cast to a string."""
    rule = _RULES.get("whole" if x.type.is_integral else x.type.name)
    if rule is None:
        return None
    is_value = x.known & x.can_be_value & ~x.can_be_nan
    # Repeat a single constant where the flags differ from container to container.
    lower, upper, is_value = np.broadcast_arrays(x.lower, x.upper, is_value)
    low, high, known = rule(lower, upper, x.type)
    known = known & is_value
    # NaN has a text too, so the edges are unknown where NaN is possible, and NaN counts as a value.
    edges = [_known(each, known) for each in (low, high)]
    has_value = x.can_be_value | x.can_be_nan
    source = Interval(STRING, x.lower, x.upper, x.known, x.can_be_null, NO, has_value)
    return text_result(STRING, edges[0], edges[1], source)


def _known(edge: pa.Array, known: Flags) -> pa.Array:
    return pc.if_else(pa.array(known), edge, pa.scalar(None, edge.type))


Rule = Callable[[Numbers, Numbers, DataType], tuple[pa.Array, pa.Array, Flags]]


def _digits(values: Numbers) -> pa.Array:
    return pa.array(values).cast(pa.large_string()).cast(pa.large_binary())


def _of_whole(
    lower: Numbers, upper: Numbers, data_type: DataType
) -> tuple[pa.Array, pa.Array, Flags]:
    """With equal length and sign, text sorts as the numbers do, or in reverse for negative ones."""
    low, high = _digits(lower), _digits(upper)
    lengths = [pc.binary_length(each).to_numpy(zero_copy_only=False) for each in (low, high)]
    is_negative = upper < 0
    same_form = (lengths[0] == lengths[1]) & ((lower >= 0) | is_negative)
    mask = pa.array(is_negative)
    return pc.if_else(mask, high, low), pc.if_else(mask, low, high), same_form


def _of_boolean(
    lower: Numbers, upper: Numbers, data_type: DataType
) -> tuple[pa.Array, pa.Array, Flags]:
    """ "false" < "true"."""
    texts = pa.array([b"false", b"true"], pa.large_binary())
    low, high = (texts.take(pa.array(np.clip(each, 0, 1))) for each in (lower, upper))
    return low, high, np.ones(len(lower), np.bool_)


def _of_floating(
    lower: Numbers, upper: Numbers, data_type: DataType
) -> tuple[pa.Array, pa.Array, Flags]:
    """Known for a single value that is a multiple of 1/4, or of 1/2 for floats from 2 ** 20 on.

    Java writes only as many digits as distinguish a value from its neighbors. Neighbors of such a
    float are at least 1/8 away, so 1048576.25 is written as 1048576.2. For smaller ones, and for
    doubles, both digits are needed: the nearest text of one digit is 0.05 away, and the middle
    between two neighbors at most 1/32. The number of digits of other values depends on the Java
    version. Zero is not known: it may be -0.0.
    """
    size = np.abs(lower)
    size = np.where(size < _PLAIN_DOUBLE, size, 0.1)  # 0.1 is not a multiple of 1/4
    parts = np.where((data_type == FLOAT) & (size >= _ONE_DIGIT_FLOAT), 2, 4)
    plain = (size * parts == np.trunc(size * parts)) & (lower != 0)
    quarters = np.where(plain & (lower == upper), size * 4, 0).astype(np.int64)
    sign = pa.array([b"", b"-"], pa.large_binary()).take(pa.array((lower < 0).astype(np.int64)))
    text = joined(sign, _digits(quarters // 4), _QUARTERS.take(pa.array(quarters % 4)))
    return text, text, plain & (lower == upper)


def _of_decimal(
    lower: Numbers, upper: Numbers, data_type: DataType
) -> tuple[pa.Array, pa.Array, Flags]:
    """Known for a single value, written with all digits of its scale."""
    known = (lower == upper) & ((data_type.scale or 0) <= _PLAIN_SCALE)
    text = decimal_edge(np.where(known, lower, 0), known, data_type).cast(pa.large_string())
    text = text.cast(pa.large_binary())
    return text, text, known


_RULES: dict[str, Rule] = {
    "whole": _of_whole,
    "boolean": _of_boolean,
    "float": _of_floating,
    "double": _of_floating,
    "decimal": _of_decimal,
}
