"""Estimate how well files are clustered by a column, and so whether a list of values prunes any.

    ranges of the files          files that may hold a value     a list of values
    1..10  11..20  21..30        1 of 3                          pays off: the ranges are disjoint
    1..30  1..29   2..30         3 of 3                          never pays off

To get a list of values at run time, an extra query has to produce it. That pays off only if each
value lies in few files. This is an estimate of the benefit: no query result depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import Flags
from tamis.expr.nodes import Expr
from tamis.files.segments import Segment
from tamis.plan.joins.key_bounds import ends_of

__all__ = ["depth_of_files", "is_clustered", "share_of_files"]

#: A sample of this many files, spread over all of them, represents all of them well enough.
_SAMPLE: Final = 2_048
#: If a value lies in a larger share of the files than this, a list rarely pays off.
_PAYS: Final = 0.4


def share_of_files(key: Expr, segments: Sequence[Segment], kept: Flags) -> float:
    """Return the average share of the kept files that may hold a given value of the key.

    1.0 if that is not known.

    >>> import tamis.evaluation.nodes.operators  # fills the registries
    >>> from tamis.files.example import FILES
    >>> from tamis.expr.nodes import Column
    >>> from tamis.expr.types import LONG
    >>> share_of_files(Column(("c",), LONG), [Segment(slice(0, 4), FILES)], np.ones(4, np.bool_))
    0.65625
    """
    ends = ends_of(key, segments, _sample(kept))
    if ends is None or not len(ends.lower):
        return 1.0
    # The files whose range holds v are those that begin at or below v, except those that end below.
    values = np.concatenate([ends.lower, ends.upper])
    begun = np.searchsorted(np.sort(ends.lower), values, side="right")
    ended = np.searchsorted(np.sort(ends.upper), values, side="left")
    counted = len(ends.lower) + ends.unknown
    return float((np.mean(begun - ended) + ends.unknown) / counted)


def depth_of_files(key: Expr, segments: Sequence[Segment], kept: Flags) -> float | None:
    """Return the average number of files whose range of the key overlaps that of a file.

    Every file counts as overlapping itself, so 1.0 means that no two ranges overlap.

    Returns:
        None if nothing is known about the key in any file, or if its type has no usable order.

    >>> import tamis.evaluation.nodes.operators  # fills the registries
    >>> from tamis.files.example import FILES
    >>> from tamis.expr.nodes import Column
    >>> from tamis.expr.types import LONG
    >>> depth_of_files(Column(("c",), LONG), [Segment(slice(0, 4), FILES)], np.ones(4, np.bool_))
    3.0
    """
    sample = _sample(kept)
    ends = ends_of(key, segments, sample)
    if ends is None or not len(ends.lower):
        return None
    # Two ranges do not overlap if one begins after the end of the other.
    begun = np.searchsorted(np.sort(ends.lower), ends.upper, side="right")
    ended = np.searchsorted(np.sort(ends.upper), ends.lower, side="left")
    counted = len(ends.lower) + ends.unknown
    # A file without known bounds may share values with every file.
    meetings = float(np.sum(begun - ended)) + (len(ends.lower) + counted) * ends.unknown
    others = meetings / counted - 1
    return float(1 + others * np.count_nonzero(kept) / np.count_nonzero(sample))


def _sample(kept: Flags) -> Flags:
    ordinals = np.flatnonzero(kept)
    if len(ordinals) <= _SAMPLE:
        return kept
    sample = np.zeros_like(kept)
    sample[ordinals[:: len(ordinals) // _SAMPLE]] = True
    return sample


def is_clustered(key: Expr, segments: Sequence[Segment], kept: Flags) -> bool:
    """Return whether it pays off to look up values of the key at run time.

    It does if a value lies in a small share of the files on average. With few files this test is
    too strict: a value lies in half of two files even if their ranges are disjoint, and then it
    always skips one. So fewer than 1.5 files per value are enough too. Two files with overlapping
    ranges do not pass: half of their four edges lie in both files, so the average is 1.5.
    """
    count = int(np.count_nonzero(kept))
    share = share_of_files(key, segments, kept) if count > 1 else 1.0
    return share <= _PAYS or (share < 1 and share * count < 1.5)
