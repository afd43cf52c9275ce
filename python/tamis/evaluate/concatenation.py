"""concat(x, y, …), pair by pair from the left.

    x one string p    p || y rises with y: from p || yl to p || yu
    else              at least xl, for x || y >= x >= xl; nothing more: "a" || "z" > "ab" || "a"

At most, for x in [l, u] and the suffix d = yu: an x that does not begin u is less at the first byte
where they differ, and so is all that begins with it. An x that does is one of the beginnings of u,
as short as those that are still at least l. So the greatest of

    u[:k] || d    for k from `shortest` to the length of u

Two of them differ first where the shorter one ends, by d's first byte against u's next. So the
first k whose next byte of u is less than d's first byte is the greatest; if there is none, u || d
is. Where such bytes are equal, all are compared.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluate.bounds import Bounds, Flags
from tamis.evaluate.byte_rows import joined, lengths_of, rows_of, shared_length, strings_of
from tamis.evaluate.interpreter import value
from tamis.evaluate.statistics import Statistics
from tamis.evaluate.text import text_result
from tamis.expr.nodes import Call
from tamis.expr.types import STRING

__all__ = ["concat"]

#: Of longer upper edges nothing is known.
_LONGEST = 200
_BINARY = pa.large_binary()
_UNKNOWN = pa.scalar(None, _BINARY)


def concat(call: Call, statistics: Statistics) -> Bounds | None:
    parts = [value(argument, statistics) for argument in call.arguments]
    if not parts or call.type != STRING:
        return None
    whole = parts[0]
    for part in parts[1:]:
        if whole is None or part is None or not whole.type == part.type == STRING:
            return None
        whole = _pair(whole, part)
    return whole if whole is not None and whole.type == STRING else None


def _pair(x: Bounds, y: Bounds) -> Bounds:
    edges = [x.lower, x.upper, y.lower, y.upper]
    count = max(1 if edge is None else len(edge) for edge in edges)
    xl, xu, yl, yu = (_repeated(edge, count) for edge in edges)
    one = pc.fill_null(pc.equal(xl, xu), False)
    # Not known: the empty string is the least.
    lower = pc.if_else(one, joined(xl, pc.fill_null(yl, b"")), xl)
    upper = pc.if_else(one, joined(xl, yu), _greatest(xl, xu, yu))
    return text_result(STRING, lower, upper, x, y)


def _repeated(edge: pa.Array | None, count: int) -> pa.Array:
    if edge is None:
        return pa.nulls(count, _BINARY)
    return pa.repeat(edge[0], count) if len(edge) == 1 != count else edge


def _greatest(least: pa.Array, upper: pa.Array, suffix: pa.Array) -> pa.Array:
    """At most x || suffix for least <= x <= upper; null where that is not known."""
    known = pc.and_(upper.is_valid(), suffix.is_valid()).to_numpy(zero_copy_only=False)
    length = lengths_of(upper)
    width = int(min(length.max(initial=0), _LONGEST))
    known &= length <= width
    if not known.any() or not width:
        return joined(upper, suffix)
    rows, low, lowest = rows_of(upper, width), rows_of(least, width), lengths_of(least)
    shared = shared_length(low, rows, np.minimum(length, lowest))
    # Of beginnings of the upper edge those are at least the lower one that hold all of it, or go
    # beyond the first byte where both differ. (Lower edges that are not known are empty here.)
    shortest = np.minimum(shared + (shared < lowest), length)
    place = np.arange(width)
    first = rows_of(suffix, 1)
    open_to = (place >= shortest[:, None]) & (place < length[:, None])
    cuts = open_to & (rows <= first) & (lengths_of(suffix) > 0)[:, None]
    cut = np.where(cuts.any(axis=1), cuts.argmax(axis=1), length)
    found = joined(strings_of(rows, cut, known), suffix)
    at_cut = rows[np.arange(len(rows)), np.minimum(cut, width - 1)]
    ties = np.flatnonzero(known & (cut < length) & (at_cut == first[:, 0]))
    return _settled(found, ties, upper, suffix, shortest)


def _settled(
    found: pa.Array, ties: np.ndarray, upper: pa.Array, suffix: pa.Array, shortest: np.ndarray
) -> pa.Array:
    """The same, with these rows compared beginning by beginning."""
    if not len(ties):
        return found
    rows = pa.array(ties)
    cells = [
        max(whole[:length] + end for length in range(start, len(whole) + 1))
        for whole, end, start in zip(
            upper.take(rows).to_pylist(),
            suffix.take(rows).to_pylist(),
            shortest[ties].tolist(),
            strict=True,
        )
    ]
    mask: Flags = np.zeros(len(found), np.bool_)
    mask[ties] = True
    return pc.replace_with_mask(found, pa.array(mask), pa.array(cells, _BINARY))
