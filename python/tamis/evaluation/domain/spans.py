"""Sets of strings as spans [lower, upper) in byte order; upper None means no limit.

    the string c                   [c, c followed by a zero byte)
    strings that begin with p      [p, the successor of p)
    strings below c                ["", c)

The spans of a set are in ascending order and do not touch. A container whose values lie in [l, u]
may hold a string of the set only if more spans begin at or below u than end at or below l.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.evaluation.domain.bounds import Bounds, Flags
from tamis.evaluation.domain.search import count_at_most, count_less

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
    "successor",
    "without",
]

Span: TypeAlias = tuple[bytes, bytes | None]
Spans: TypeAlias = tuple[Span, ...]


def only(text: bytes) -> Span:
    """Return the span of a single string."""
    return text, text + b"\0"


def beginning_with(prefix: bytes) -> Span:
    """Return the span of the strings that begin with the prefix."""
    return prefix, successor(prefix)


def successor(prefix: bytes) -> bytes | None:
    """Return the least byte string greater than all strings that begin with the prefix.

    Returns None if there is no such string.

    >>> successor(b"ab"), successor(b"a\\xff"), successor(b"\\xff")
    (b'ac', b'b', None)
    """
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes([trimmed[-1] + 1]) if trimmed else None


def merged(spans: Iterable[Span]) -> Spans:
    """Return the union of the spans.

    >>> merged([(b"c", b"d"), (b"a", b"b"), (b"b", b"c"), (b"x", b"x")])
    ((b'a', b'd'),)
    """
    union: list[Span] = []
    for lower, upper in sorted(spans, key=lambda span: span[0]):
        if upper is not None and upper <= lower:
            continue
        last = union[-1] if union else None
        if last is None or (last[1] is not None and last[1] < lower):
            union.append((lower, upper))
        elif last[1] is not None and (upper is None or upper > last[1]):
            union[-1] = (last[0], upper)
    return tuple(union)


def complement(spans: Spans) -> Spans:
    """Return the spans of all strings that are in none of the given spans.

    >>> complement(((b"a", b"b"), (b"c", None)))
    ((b'', b'a'), (b'b', b'c'))
    """
    starts = [b"", *(upper for _, upper in spans if upper is not None)]
    ends: list[bytes | None] = [lower for lower, _ in spans]
    if not spans or spans[-1][1] is not None:
        ends.append(None)
    return merged(zip(starts, ends, strict=True))


def without(spans: Spans, removed: Span) -> Spans:
    """Return the spans without the strings of the removed span.

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
    """Spans as ascending arrays. `uppers` has one element fewer if the last span has no limit."""

    lowers: pa.Array
    uppers: pa.Array


def edges_of(spans: Spans) -> Edges:
    lowers = [lower for lower, _ in spans]
    uppers = [upper for _, upper in spans if upper is not None]
    return Edges(pa.array(lowers, pa.large_binary()), pa.array(uppers, pa.large_binary()))


def may_meet(x: Bounds, edges: Edges) -> Flags:
    """Return where an ordinary value may be in one of the spans."""
    begun: Any = len(edges.lowers)
    ended: Any = 0
    upper: pa.Array | None = x.upper
    if upper is not None and len(edges.lowers):
        begun = count_at_most(edges.lowers, upper)
        if x.upper_open is not None:  # no value reaches a span that begins at an open upper edge
            begun = np.where(x.upper_open, count_less(edges.lowers, upper), begun)
        unknown = upper.is_null().to_numpy(zero_copy_only=False)
        begun = np.where(unknown, len(edges.lowers), begun)
    if x.lower is not None and len(edges.uppers):
        ended = count_at_most(edges.uppers, x.lower)  # 0 where x.lower is not known
    return np.atleast_1d(begun > ended)
