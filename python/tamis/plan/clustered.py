"""How well files are ordered by a column: whether a list of values can spare any of them.

    files                        a value is found in       share
    1..10  11..20  21..30        1 of 3                    disjoint: pays
    1..30  1..29   2..30         3 of 3                    every file holds everything: never

A list that is known only when a query runs costs the query that makes it. So it is worth asking for
only where single values lie in few files. It is a guess about benefit, and no result rests on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tamis.evaluate.bounds import Flags
from tamis.expr.nodes import Expr
from tamis.plan.edges import ends_of
from tamis.plan.scan import Segment

__all__ = ["depth_of_files", "is_clustered", "share_of_files"]

#: So many files, spread over all of them, tell as much as all.
_SAMPLE: Final = 2_048
#: A value in more of the files than this is hardly worth a list.
_PAYS: Final = 0.4


def share_of_files(key: Expr, segments: Sequence[Segment], kept: Flags) -> float:
    """In which share of the files that are kept a value of the key may be found, on average.

    1.0 where that is not known.

    >>> import tamis.evaluate.operators  # fills the registries
    >>> from tamis.evaluate.example import FILES
    >>> from tamis.expr.nodes import Column
    >>> from tamis.expr.types import LONG
    >>> share_of_files(Column(("c",), LONG), [Segment(slice(0, 4), FILES)], np.ones(4, np.bool_))
    0.65625
    """
    ends = ends_of(key, segments, _sample(kept))
    if ends is None or not len(ends.lower):
        return 1.0
    # A value v lies in the files that begin at v or below, but for those that end below it.
    values = np.concatenate([ends.lower, ends.upper])
    begun = np.searchsorted(np.sort(ends.lower), values, side="right")
    ended = np.searchsorted(np.sort(ends.upper), values, side="left")
    asked = len(ends.lower) + ends.unknown
    return float((np.mean(begun - ended) + ends.unknown) / asked)


def depth_of_files(key: Expr, segments: Sequence[Segment], kept: Flags) -> float | None:
    """With how many files a file shares part of its range of the key, on average, and with itself.

    1.0: no two ranges meet. None: nothing is known of the key in any file, or it has no order.

    >>> import tamis.evaluate.operators  # fills the registries
    >>> from tamis.evaluate.example import FILES
    >>> from tamis.expr.nodes import Column
    >>> from tamis.expr.types import LONG
    >>> depth_of_files(Column(("c",), LONG), [Segment(slice(0, 4), FILES)], np.ones(4, np.bool_))
    3.0
    """
    sample = _sample(kept)
    ends = ends_of(key, segments, sample)
    if ends is None or not len(ends.lower):
        return None
    # Two ranges do not meet where one begins after the end of the other.
    begun = np.searchsorted(np.sort(ends.lower), ends.upper, side="right")
    ended = np.searchsorted(np.sort(ends.upper), ends.lower, side="left")
    asked = len(ends.lower) + ends.unknown
    # a file of which nothing is known may share values with all
    met = float(np.sum(begun - ended)) + (len(ends.lower) + asked) * ends.unknown
    others = met / asked - 1
    return float(1 + others * np.count_nonzero(kept) / np.count_nonzero(sample))


def _sample(kept: Flags) -> Flags:
    ordinals = np.flatnonzero(kept)
    if len(ordinals) <= _SAMPLE:
        return kept
    sample = np.zeros_like(kept)
    sample[ordinals[:: len(ordinals) // _SAMPLE]] = True
    return sample


def is_clustered(key: Expr, segments: Sequence[Segment], kept: Flags) -> bool:
    """Whether it pays to look up values of the key at run time.

    With few files the share is coarse. Of two files whose ranges do not meet, one is skipped,
    though each holds half of the values; where the ranges overlap, every other edge lies in both
    files, which makes 1.5 files a value, and hardly any value skips one.
    """
    count = int(np.count_nonzero(kept))
    share = share_of_files(key, segments, kept) if count > 1 else 1.0
    return share <= _PAYS or (share < 1 and share * count < 1.5)
