"""Strings as intervals of bytes, and functions that map a string to a string.

Spark compares strings as UTF-8 bytes, which is the order of their code points. Edges are pyarrow
large_binary and need not be valid strings: a truncated bound may end in the middle of a character.

A function with no known property is still exact where all values of a container are the same one.
`of_points` computes it there, row by row, up to a limit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags, same_length
from tamis.evaluation.domain.interval import Interval
from tamis.expr.types import DataType

__all__ = ["literal_prefix", "of_points", "one_text", "point_rows", "text_result"]

#: At most this many points of a block are computed one by one.
_MOST_POINTS = 20_000
#: Java decodes bytes that are not UTF-8 as this character.
_REPLACEMENT = "\ufffd"


def text_result(
    data_type: DataType,
    lower: pa.Array,
    upper: pa.Array,
    *arguments: Bounds | Interval,
    can_be_null: Flags = NO,
    upper_open: Flags | None = None,
) -> Bounds:
    """Return bounds of a string function that is NULL where an argument is.

    An edge of null is not known. `can_be_null`: where the function may be NULL although no argument
    is.
    """
    null, has_value = can_be_null, YES
    for each in arguments:
        null, has_value = null | each.can_be_null, has_value & each.can_be_value
    low, high = same_length(lower, upper)
    return Bounds(data_type, low, high, null, NO, has_value, upper_open=upper_open)


def point_rows(x: Bounds) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the containers whose ordinary values are all known to be the same one."""
    if x.lower is None or x.upper is None or len(x.lower) != len(x.upper):
        return np.zeros(0, np.intp)
    equal = pc.fill_null(pc.equal(x.lower, x.upper), False).to_numpy(zero_copy_only=False)
    return np.flatnonzero(equal)[:_MOST_POINTS]


def of_points(x: Bounds, function: Callable[[str], str | None]) -> pa.Array:
    """Return f(x) for the containers with a single value; null for others and for invalid UTF-8."""
    count = 1 if x.lower is None else len(x.lower)
    cells: list[bytes | None] = [None] * count
    rows = point_rows(x)
    if x.lower is None or not len(rows):
        return pa.array(cells, pa.large_binary())
    for row, text in zip(rows.tolist(), x.lower.take(pa.array(rows)).to_pylist(), strict=True):
        try:
            mapped = function(text.decode())
        except UnicodeDecodeError:
            continue
        cells[row] = None if mapped is None else mapped.encode()
    return pa.array(cells, pa.large_binary())


def one_text(lower: pa.Array, upper: pa.Array) -> Flags:
    """Return where all strings are the same one, because both edges are equal."""
    if len(lower) != len(upper):
        return np.zeros(1, np.bool_)
    equal: Flags = pc.fill_null(pc.equal(lower, upper), False).to_numpy(zero_copy_only=False)
    return equal


def literal_prefix(pattern: str, escape: str) -> tuple[str, bool] | None:
    """Return the literal prefix of a LIKE pattern, and whether a wildcard follows it.

    U+FFFD counts as a wildcard: Spark decodes a string to match it, so bytes that are not UTF-8
    match U+FFFD too.

    Returns None if the pattern has an invalid escape.

    >>> literal_prefix("a!_b%c", "!"), literal_prefix("a!b", "!"), literal_prefix("a\ufffdb", "!")
    (('a_b', True), None, ('a', True))
    """
    literal: list[str] = []
    position, prefix = 0, None
    while position < len(pattern):
        character = pattern[position]
        is_wildcard = character in "_%"
        if character == escape:
            following = pattern[position + 1 : position + 2]
            if following not in ("_", "%", escape) or not following:
                return None
            character, is_wildcard = following, False
            position += 1
        if is_wildcard or character == _REPLACEMENT:
            prefix = "".join(literal) if prefix is None else prefix
        else:
            literal.append(character)
        position += 1
    return ("".join(literal), False) if prefix is None else (prefix, True)
