"""Functions that give strings, or numbers, of strings.

substring(x, 1, n)      monotone: cut both edges
concat(p, x)            p constant: put p before both edges
concat(x, s)            at least x; at most the greatest of q || s, for q a beginning of x's
                        upper edge that is itself at least the lower edge
upper(x), lower(x)      what all values begin with stays a beginning; one value is computed
trim(x), …              one value is computed
length(x)               one value is computed; 1 or more where x is not empty
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluate.bounds import NO, Bounds, Flags
from tamis.evaluate.interpreter import ValueRule, value
from tamis.evaluate.interval import Interval, Numbers, result
from tamis.evaluate.statistics import Statistics
from tamis.evaluate.text import of_points, point_rows, successor, text_result
from tamis.expr.nodes import Call, Expr, Literal
from tamis.expr.types import BINARY, INTEGER, STRING

__all__ = ["case_mapped", "concat", "length", "of_one_value", "substring", "trimmed"]

#: Longer edges are not taken apart: the work grows with the square of it.
_LONGEST = 200
#: More containers than this are not computed one by one.
_MOST = 100_000


def _string(argument: Expr, statistics: Statistics) -> Bounds | None:
    found = value(argument, statistics)
    return found if found is not None and found.type == STRING else None


def substring(call: Call, statistics: Statistics) -> Bounds | None:
    """The first n characters. With fewer of them two strings cannot change their order: where they
    differ first is either within both beginnings, or both beginnings are alike.
    """
    match call.arguments:
        case (argument, Literal(value=int(start)), Literal(value=int(count))) if start in (0, 1):
            x = _string(argument, statistics)
        case _:
            return None
    if x is None:
        return None
    if count <= 0:
        empty = pa.array([b""], pa.large_binary())
        return text_result(STRING, empty, empty, x)
    edges = [_beginnings(each, count) for each in (x.lower, x.upper)]
    return text_result(STRING, edges[0], edges[1], x, upper_open=_still_open(x, edges[1]))


def _still_open(x: Bounds, cut: pa.Array) -> Flags | None:
    """Where the upper edge is too short to be cut: a beginning of v < edge is below it too."""
    if x.upper_open is None or x.upper is None:
        return None
    is_whole = pc.fill_null(pc.equal(x.upper, cut), False).to_numpy(zero_copy_only=False)
    flags: Flags = x.upper_open & is_whole
    return flags


def _beginnings(edge: pa.Array | None, count: int) -> pa.Array:
    if edge is None:
        return pa.array([None], pa.large_binary())
    data = edge.buffers()[2]
    is_ascii = data is None or not (np.frombuffer(data, np.uint8) & 0x80).any()
    if is_ascii:
        return pc.binary_slice(edge, 0, count)
    if len(edge) > _MOST:
        return pa.nulls(len(edge), pa.large_binary())
    cells = [None if each is None else beginning(each, count) for each in edge.to_pylist()]
    return pa.array(cells, pa.large_binary())


def beginning(text: bytes, count: int) -> bytes:
    """The first characters as Spark counts them: by their first byte, whatever follows it.

    >>> beginning("aéb".encode(), 2)
    b'a\\xc3\\xa9'
    """
    position = 0
    for _ in range(count):
        if position >= len(text):
            break
        first = text[position]
        position += 1 + (0xC2 <= first <= 0xF4) + (0xE0 <= first <= 0xF4) + (0xF0 <= first <= 0xF4)
    return text[:position]


def concat(call: Call, statistics: Statistics) -> Bounds | None:
    """Pair by pair from the left."""
    parts = [_string(argument, statistics) for argument in call.arguments]
    if not parts or call.type != STRING:
        return None
    joined = parts[0]
    for part in parts[1:]:
        if joined is None or part is None:
            return None
        joined = _joined(joined, part)
    return joined


def _joined(x: Bounds, y: Bounds) -> Bounds:
    count = max(len(edge) for edge in (x.lower, x.upper, y.lower, y.upper, [0]) if edge is not None)
    if count > _MOST:
        return text_result(STRING, [None], [None], x, y)
    xl, xu, yl, yu = (_cells(edge, count) for edge in (x.lower, x.upper, y.lower, y.upper))
    lower: list[bytes | None] = []
    upper: list[bytes | None] = []
    for a, b, c, d in zip(xl, xu, yl, yu, strict=True):
        if a is not None and a == b:
            # One first part: its concatenation rises with the second.
            lower.append(a + (c or b""))  # not known: the empty string is the least
            upper.append(None if d is None else a + d)
        else:
            # x || y >= x >= a. Nothing more: "a" || "z" > "ab" || "a".
            lower.append(a)
            upper.append(_greatest_joined(a, b, d))
    return text_result(STRING, lower, upper, x, y)


def _greatest_joined(
    least: bytes | None, upper: bytes | None, suffix: bytes | None
) -> bytes | None:
    """At most x || suffix for least <= x <= upper.

    An x that does not begin `upper` is less at the first byte where they differ, and so is all that
    begins with it; an x that does is one of the beginnings tried here.
    """
    if upper is None or suffix is None or len(upper) > _LONGEST:
        return None
    beginnings = (upper[:length] for length in range(len(upper) + 1))
    return max(each + suffix for each in beginnings if least is None or each >= least)


def _cells(edge: pa.Array | None, count: int) -> list[bytes | None]:
    if edge is None:
        return [None] * count
    cells: list[bytes | None] = edge.to_pylist()
    return cells * count if len(cells) == 1 else cells


def of_one_value(function: Callable[[str], str | None]) -> ValueRule:
    """The rule of a function of one string that is computed where there is one value, only."""

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        x = _string(call.arguments[0], statistics) if len(call.arguments) == 1 else None
        if x is None:
            return None
        cells = of_points(x, function)
        return text_result(STRING, cells, cells, x)

    return rule


def trimmed(strip: Callable[[str, str], str]) -> ValueRule:
    """trim, ltrim, rtrim: of spaces (that character alone), or of the characters given."""

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        match call.arguments:
            case (argument,):
                characters = " "
            case (argument, Literal(value=str(characters))):
                pass
            case _:
                return None
        x = _string(argument, statistics)
        if x is None:
            return None
        cells = of_points(x, lambda text: strip(text, characters) if characters else text)
        return text_result(STRING, cells, cells, x)

    return rule


def case_mapped(function: Callable[[str], str]) -> ValueRule:
    """upper and lower: of ASCII, in which no letter's case depends on its neighbours.

    The letter i is left out: its case depends on the locale of the JVM.
    """

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        x = _string(call.arguments[0], statistics) if len(call.arguments) == 1 else None
        if x is None or x.lower is None or x.upper is None:
            return None
        count = max(len(x.lower), len(x.upper))
        if count > _MOST:
            return None
        lower: list[bytes | None] = []
        upper: list[bytes | None] = []
        is_open = np.zeros(count, np.bool_)
        pairs = zip(_cells(x.lower, count), _cells(x.upper, count), strict=True)
        for ordinal, (low, high) in enumerate(pairs):
            if low is None or high is None:
                lower.append(None)
                upper.append(None)
            elif low == high and low.isascii():
                # Spark maps what is ASCII throughout by bytes, with no locale.
                mapped = function(low.decode()).encode()
                lower.append(mapped)
                upper.append(mapped)
            else:
                is_below = x.upper_open is not None and bool(x.upper_open[ordinal])
                shared = function(_shared_ascii(low, high, is_below)).encode()
                lower.append(shared)
                upper.append(successor(shared) if shared else None)
                is_open[ordinal] = bool(shared)
        return text_result(STRING, lower, upper, x, upper_open=is_open)

    return rule


def _shared_ascii(low: bytes, high: bytes, is_below: bool) -> str:
    """What every string between the two begins with, up to the first byte beyond ASCII or an i.

    `is_below`: the strings are less than `high`. Where that is the successor of a beginning of
    `low`, they all have this beginning.
    """
    if is_below and high and low[: len(high)] == high[:-1] + bytes([max(high[-1] - 1, 0)]):
        high = low[: len(high)]
    shared = bytearray()
    for one, other in zip(low, high, strict=False):
        if one != other or one >= 0x80 or one in b"iI":
            break
        shared.append(one)
    return shared.decode()


def length(measure: Callable[[pa.Array], Numbers]) -> ValueRule:
    """The rule of length, octet_length and bit_length."""

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        x = value(call.arguments[0], statistics) if len(call.arguments) == 1 else None
        if x is None or x.type not in (STRING, BINARY) or call.type != INTEGER:
            return None
        count = 1 if x.lower is None else len(x.lower)
        lower = np.zeros(count, np.int64)
        upper = np.full(count, INTEGER.domain[1], np.int64)
        if x.lower is not None:
            # Greater than the empty string: not empty.
            nonempty = pc.fill_null(pc.greater(pc.binary_length(x.lower), 0), False)
            lower[nonempty.to_numpy(zero_copy_only=False)] = 1
            rows = point_rows(x)
            lower[rows] = upper[rows] = measure(x.lower.take(pa.array(rows)))
        ends = np.array([0]), np.array([0])
        source = Interval(INTEGER, *ends, np.array([True]), x.can_be_null, NO, x.can_be_value)
        return result(INTEGER, lower, upper, source)

    return rule


def octets(values: pa.Array) -> Numbers:
    """How many bytes each value has."""
    found: Numbers = pc.binary_length(values).to_numpy(zero_copy_only=False)
    return found


def characters(values: pa.Array) -> Numbers:
    """How many characters each value has."""
    data = values.buffers()[2]
    if data is None or not (np.frombuffer(data, np.uint8) & 0x80).any():
        return octets(values)
    return np.array([_characters(text) for text in values.to_pylist()], np.int64)


def _characters(text: bytes) -> int:
    """Characters as Spark counts them: by their first bytes."""
    count = position = 0
    while position < len(text):
        position += len(beginning(text[position : position + 4], 1))
        count += 1
    return count
