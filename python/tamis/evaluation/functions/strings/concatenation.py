"""concat(x, y, …), evaluated pair by pair from the left.

Lower bound, and both bounds if x is a single string p:

    x = p        p || y is monotone in y, so it lies in [p || yl, p || yu]
    otherwise    x || y >= x >= xl. xl || yl is not a lower bound: "a" || "z" > "ab" || "a"

Upper bound for x in [l, u], with the suffix d = yu: an x that is not a prefix of u is less than u
at the first byte where they differ, and so is every string that begins with this x. An x that is a
prefix of u has at least `shortest` bytes, because shorter prefixes of u are less than l. So the
upper bound is the greatest of

    u[:k] || d    for k from `shortest` to the length of u

Any two of these strings agree up to the end of the shorter prefix. There, one has the first byte of
d and the other the next byte of u. So the greatest is at the first k for which the next byte of u
is less than the first byte of d, or u || d if no k satisfies this. Where these two bytes are equal,
all candidates are compared.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Bounds, Flags
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.functions.strings.byte_rows import (
    joined,
    lengths_of,
    rows_of,
    shared_length,
    strings_of,
)
from tamis.evaluation.functions.strings.text import text_result
from tamis.evaluation.interpreter import value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call
from tamis.expr.types import STRING

__all__ = ["ENTRIES", "concat"]

#: Where the upper edge has more bytes than this, the upper bound is unknown.
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
    # An unknown yl is replaced by the empty string, the least one.
    lower = pc.if_else(one, joined(xl, pc.fill_null(yl, b"")), xl)
    upper = pc.if_else(one, joined(xl, yu), _greatest(xl, xu, yu))
    return text_result(STRING, lower, upper, x, y)


def _repeated(edge: pa.Array | None, count: int) -> pa.Array:
    if edge is None:
        return pa.nulls(count, _BINARY)
    return pa.repeat(edge[0], count) if len(edge) == 1 != count else edge


def _greatest(least: pa.Array, upper: pa.Array, suffix: pa.Array) -> pa.Array:
    """Return an upper bound of x || suffix for least <= x <= upper; null where it is unknown."""
    known = pc.and_(upper.is_valid(), suffix.is_valid()).to_numpy(zero_copy_only=False)
    length = lengths_of(upper)
    width = int(min(length.max(initial=0), _LONGEST))
    known &= length <= width
    if not width:
        return joined(upper, suffix)  # every upper edge is empty or unknown
    rows, low, lowest = rows_of(upper, width), rows_of(least, width), lengths_of(least)
    shared = shared_length(low, rows, np.minimum(length, lowest))
    # A prefix of the upper edge is at least the lower edge if it contains the whole lower edge, or
    # the first byte where the two edges differ. (Unknown lower edges are empty here.)
    shortest = np.minimum(shared + (shared < lowest), length)
    place = np.arange(width)
    first = rows_of(suffix, 1)
    open_to = (place >= shortest[:, None]) & (place < length[:, None])
    cuts = open_to & (rows <= first) & (lengths_of(suffix) > 0)[:, None]
    cut = np.where(cuts.any(axis=1), cuts.argmax(axis=1), length)
    greatest = joined(strings_of(rows, cut, known), suffix)
    at_cut = rows[np.arange(len(rows)), np.minimum(cut, width - 1)]
    ties = np.flatnonzero(known & (cut < length) & (at_cut == first[:, 0]))
    return _compare_ties(greatest, ties, upper, suffix, shortest)


def _compare_ties(
    greatest: pa.Array, ties: np.ndarray, upper: pa.Array, suffix: pa.Array, shortest: np.ndarray
) -> pa.Array:
    """Return `greatest` with the rows `ties` replaced by the maximum over all prefixes."""
    if not len(ties):
        return greatest
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
    mask: Flags = np.zeros(len(greatest), np.bool_)
    mask[ties] = True
    return pc.replace_with_mask(greatest, pa.array(mask), pa.array(cells, _BINARY))


ENTRIES: Final = (FunctionEntry("Concat", "concat, ||", Knowledge.INTERVAL, concat),)
