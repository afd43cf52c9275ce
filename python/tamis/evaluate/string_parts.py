"""substring and trim.

substring(x, 1, n)    monotone: with fewer characters two strings cannot change their order: where
                      they differ first is either within both beginnings, or both are alike
substring(x, k, n)    the same of what follows, where all strings begin with the same k - 1
                      characters of ASCII; elsewhere one string is computed
rtrim(x)              begins x, so it is at most the upper edge. At least the lower one, cut before
                      its first byte up to a space: let y = rtrim(x) < l' = that beginning. If
                      they differ at a byte, so do x and l, and x < l. Else y ends within l', and
                      the next byte of l' is above a space, while that of x is one: x < l again.
ltrim(x)              is x where the first byte of the lower edge is above a space: so is that of x
trim(x)               is rtrim(x) there
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluate.bounds import Bounds, Flags
from tamis.evaluate.byte_rows import (
    is_ascii,
    lengths_of,
    rows_of,
    shared_length,
    strings_of,
)
from tamis.evaluate.interpreter import ValueRule, value
from tamis.evaluate.statistics import Statistics
from tamis.evaluate.text import of_points, text_result
from tamis.expr.nodes import Call, Expr, Literal
from tamis.expr.types import STRING

__all__ = ["beginning", "substring", "trimmed"]

#: Lower edges of rtrim are cut here: a beginning is less.
_WIDTH = 64
#: Without an end pyarrow 26 fails on strings that are shorter than the start.
_END = (1 << 31) - 1
_UNKNOWN = pa.scalar(None, pa.large_binary())


def _string(argument: Expr, statistics: Statistics) -> Bounds | None:
    found = value(argument, statistics)
    return found if found is not None and found.type == STRING else None


def substring(call: Call, statistics: Statistics) -> Bounds | None:
    match call.arguments:
        case (argument, Literal(value=int(start)), Literal(value=int(count))):
            x = _string(argument, statistics)
        case _:
            return None
    if x is None:
        return None
    if count <= 0:
        empty = pa.array([b""], pa.large_binary())
        return text_result(STRING, empty, empty, x)
    if start in (0, 1):
        edges = [_beginnings(each, count) for each in (x.lower, x.upper)]
        return text_result(STRING, edges[0], edges[1], x, upper_open=_still_open(x, edges[1]))
    return _inner(x, start, count)


def _still_open(x: Bounds, cut: pa.Array) -> Flags | None:
    """Where the upper edge is too short to be cut: the beginning of a value below it is below."""
    if x.upper_open is None or x.upper is None:
        return None
    flags: Flags = pc.fill_null(pc.equal(x.upper, cut), False).to_numpy(zero_copy_only=False)
    return flags & x.upper_open


def _inner(x: Bounds, start: int, count: int) -> Bounds | None:
    if x.lower is None or x.upper is None or len(x.lower) != len(x.upper):
        return None
    computed = of_points(x, lambda text: _part(text, start, count))
    if not 0 < start <= _WIDTH:
        return text_result(STRING, computed, computed, x)
    skipped = start - 1
    low, high = rows_of(x.lower, skipped), rows_of(x.upper, skipped)
    shortest = np.minimum(lengths_of(x.lower), lengths_of(x.upper))
    alike = (shared_length(low, high, shortest) >= skipped) & (low < 0x80).all(axis=1)
    edges = [
        pc.coalesce(
            computed,
            pc.if_else(
                pa.array(alike), _beginnings(pc.binary_slice(edge, skipped, _END), count), _UNKNOWN
            ),
        )
        for edge in (x.lower, x.upper)
    ]
    return text_result(STRING, edges[0], edges[1], x)


def _part(text: str, start: int, count: int) -> str:
    """Characters from `start` on: from the end if it is below zero, maybe from before the first."""
    first = start - 1 if start > 0 else len(text) + start
    return text[max(first, 0) : max(first + count, 0)]


def _beginnings(edge: pa.Array | None, count: int) -> pa.Array:
    if edge is None:
        return pa.array([None], pa.large_binary())
    short = pc.binary_slice(edge, 0, count)
    plain = is_ascii(edge)
    if plain.all():
        return short
    rows = pa.array(np.flatnonzero(~plain))
    cells = [
        None if each is None else beginning(each, count) for each in edge.take(rows).to_pylist()
    ]
    return pc.replace_with_mask(short, pa.array(~plain), pa.array(cells, pa.large_binary()))


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


def trimmed(strip: Callable[[str, str], str], left: bool, right: bool) -> ValueRule:
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
        computed = of_points(x, lambda text: strip(text, characters) if characters else text)
        if characters != " " or x.lower is None or x.upper is None or not computed.null_count:
            return text_result(STRING, computed, computed, x)
        lower, starts = _before_spaces(x.lower)
        known = pa.array(starts) if left else pa.scalar(True)
        edges = [
            pc.coalesce(computed, pc.if_else(known, edge, _UNKNOWN))
            for edge in (lower if right else x.lower, x.upper)
        ]
        return text_result(STRING, edges[0], edges[1], x)

    return rule


def _before_spaces(edge: pa.Array) -> tuple[pa.Array, Flags]:
    """Each string up to its first byte that is at most a space; and where that is not its first."""
    lengths = lengths_of(edge)
    width = max(1, min(_WIDTH, int(lengths.max(initial=0))))
    rows, lengths = rows_of(edge, width), np.minimum(lengths, width)
    # Zeros behind the end are such bytes.
    low = rows <= ord(" ")
    stop = np.where(low.any(axis=1), low.argmax(axis=1), width)
    known = edge.is_valid().to_numpy(zero_copy_only=False)
    return strings_of(rows, np.minimum(stop, lengths), known), known & (stop > 0)
