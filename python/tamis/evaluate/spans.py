"""Sets of strings as spans, [lower, upper) in the order of bytes; upper None: no limit.

    the string c               [c, c and one zero byte more)
    what begins with p         [p, the next beginning)
    what is below c            ["", c)

Spans of a set ascend and do not touch. Whether a container whose values lie in [l, u] may hold one
of the set: the spans that begin at or below u, less those that end at or below l, are not none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.evaluate.bounds import Bounds, Flags
from tamis.evaluate.search import count_at_most, count_less
from tamis.evaluate.text import successor

__all__ = [
    "Edges",
    "Span",
    "Spans",
    "beginning_with",
    "complement",
    "edges_of",
    "may_meet",
    "merged",
    "only",
    "without",
]

Span: TypeAlias = tuple[bytes, bytes | None]
Spans: TypeAlias = tuple[Span, ...]


def only(text: bytes) -> Span:
    """The one string."""
    return text, text + b"\0"


def beginning_with(prefix: bytes) -> Span:
    """The strings that begin so."""
    return prefix, successor(prefix)


def merged(spans: Iterable[Span]) -> Spans:
    """The union.

    >>> merged([(b"c", b"d"), (b"a", b"b"), (b"b", b"c"), (b"x", b"x")])
    ((b'a', b'd'),)
    """
    found: list[Span] = []
    for lower, upper in sorted(spans, key=lambda span: span[0]):
        if upper is not None and upper <= lower:
            continue
        last = found[-1] if found else None
        if last is None or (last[1] is not None and last[1] < lower):
            found.append((lower, upper))
        elif last[1] is not None and (upper is None or upper > last[1]):
            found[-1] = (last[0], upper)
    return tuple(found)


def complement(spans: Spans) -> Spans:
    """All other strings.

    >>> complement(((b"a", b"b"), (b"c", None)))
    ((b'', b'a'), (b'b', b'c'))
    """
    starts = [b"", *(upper for _, upper in spans if upper is not None)]
    ends: list[bytes | None] = [lower for lower, _ in spans]
    if not spans or spans[-1][1] is not None:
        ends.append(None)
    return merged(zip(starts, ends, strict=True))


def without(spans: Spans, removed: Span) -> Spans:
    """The strings that are in the spans and not in the one that is removed.

    >>> without(((b"", None),), (b"a", b"b"))
    ((b'', b'a'), (b'b', None))
    """
    low, high = removed
    left: list[Span] = []
    for lower, upper in spans:
        left.append((lower, low if upper is None else min(upper, low)))
        if high is not None:
            left.append((max(lower, high), upper))
    return merged(left)


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Spans as ascending arrays. `uppers`: one fewer where the last span has no limit."""

    lowers: pa.Array
    uppers: pa.Array


def edges_of(spans: Spans) -> Edges:
    lowers = [lower for lower, _ in spans]
    uppers = [upper for _, upper in spans if upper is not None]
    return Edges(pa.array(lowers, pa.large_binary()), pa.array(uppers, pa.large_binary()))


def may_meet(x: Bounds, edges: Edges) -> Flags:
    """Where an ordinary value may be in one of the spans."""
    begun: Any = len(edges.lowers)
    ended: Any = 0
    upper: pa.Array | None = x.upper
    if upper is not None and len(edges.lowers):
        begun = count_at_most(edges.lowers, upper)
        if x.upper_open is not None:  # a span that begins at what is left out does not count
            begun = np.where(x.upper_open, count_less(edges.lowers, upper), begun)
        unknown = upper.is_null().to_numpy(zero_copy_only=False)
        begun = np.where(unknown, len(edges.lowers), begun)
    if x.lower is not None and len(edges.uppers):
        ended = count_at_most(edges.uppers, x.lower)  # 0 where it is not known
    return np.atleast_1d(begun > ended)
