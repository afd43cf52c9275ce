"""substring and trim.

substring(x, 1, n)    monotone: the first difference of two strings lies either within their
                      prefixes, which then have the same order, or beyond them, and the prefixes
                      are equal
substring(x, k, n)    the same for the rest of x, where all strings begin with the same k - 1 ASCII
                      characters; elsewhere computed only where there is a single string
rtrim(x)              is a prefix of x, so it is at most the upper edge. It is at least l', which
                      is the lower edge l cut before its first byte that is at most a space. Proof:
                      assume y = rtrim(x) < l'. If y and l' differ at a byte, x and l differ there
                      too, so x < l. Otherwise y is a proper prefix of l'. The next byte of l' is
                      above a space, while x has a space there or ends, so again x < l. Neither is
                      possible.
ltrim(x)              is x where the first byte of the lower edge is above a space, because then
                      the first byte of x is above a space too
trim(x)               is rtrim(x) under the same condition
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Bounds, Flags
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.functions.strings.byte_rows import (
    is_ascii,
    lengths_of,
    rows_of,
    shared_length,
    strings_of,
)
from tamis.evaluation.functions.strings.text import of_points, text_result
from tamis.evaluation.interpreter import ValueRule, value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call, Expr, Literal
from tamis.expr.types import STRING

__all__ = ["ENTRIES", "beginning", "substring", "trimmed"]

#: Lower edges of rtrim are cut to this many bytes: a prefix is at most the whole string.
_WIDTH = 64
#: An explicit slice end: without one, pyarrow 26 fails on strings that are shorter than the start.
_END = (1 << 31) - 1
_UNKNOWN = pa.scalar(None, pa.large_binary())


def _string(argument: Expr, statistics: Statistics) -> Bounds | None:
    bounds = value(argument, statistics)
    return bounds if bounds is not None and bounds.type == STRING else None


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
    """Return where the cut upper edge is still open.

    That is where the edge was too short to be cut: the prefix of a value below it is below it too.
    """
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
    """Return `count` characters from `start` on.

    A negative start counts from the end and may lie before the first character.
    """
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
    """Return the first characters, as Spark counts them: only the first byte gives the length.

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
    """Return the rule of trim, ltrim or rtrim.

    They trim spaces (only U+0020), or the characters given.
    """

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
        if (
            characters != " "
            or (x.lower is None or x.upper is None or len(x.lower) != len(x.upper))
            or not computed.null_count
        ):
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
    """Return each string, cut before its first byte <= a space, and where some bytes are left."""
    lengths = lengths_of(edge)
    width = max(1, min(_WIDTH, int(lengths.max(initial=0))))
    rows, lengths = rows_of(edge, width), np.minimum(lengths, width)
    # The zeros after the end of a string count as such bytes.
    low = rows <= ord(" ")
    stop = np.where(low.any(axis=1), low.argmax(axis=1), width)
    known = edge.is_valid().to_numpy(zero_copy_only=False)
    return strings_of(rows, np.minimum(stop, lengths), known), known & (stop > 0)


_LEFT: Final = (
    "of spaces, if every string begins with a character that sorts after the space; otherwise, "
    "only a single value"
)

ENTRIES: Final = (
    FunctionEntry(
        "Substring",
        "substring, left, right",
        Knowledge.MONOTONE,
        substring,
        note="from the first character, or after a prefix that all strings share",
        never_raises=True,
    ),
    FunctionEntry(
        "StringTrim",
        "trim",
        Knowledge.MONOTONE,
        trimmed(str.strip, left=True, right=True),
        note=_LEFT,
        never_raises=True,
    ),
    FunctionEntry(
        "StringTrimLeft",
        "ltrim",
        Knowledge.MONOTONE,
        trimmed(str.lstrip, left=True, right=False),
        note=_LEFT,
        never_raises=True,
    ),
    FunctionEntry(
        "StringTrimRight",
        "rtrim",
        Knowledge.MONOTONE,
        trimmed(str.rstrip, left=False, right=True),
        note="of spaces; of other characters, only a single value",
        never_raises=True,
    ),
)
