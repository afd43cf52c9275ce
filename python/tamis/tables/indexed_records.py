"""What a table format records about files, together with what a statistics index knows of them.

Both describe all rows that were written. The format also knows which files have lost rows since:

    files                  bounds, members, expressions    certain facts
    all rows are left      of both                         of both
    rows were deleted      of both: outer bounds           of the format

Aggregates of groups describe the rows that were written. A caller has to compare their number with
that of the rows that are left.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.domain.exact_counts import UNKNOWN, Certain
from tamis.evaluation.domain.intersection import contradict, intersect
from tamis.evaluation.statistics import Grouped, Members, Passing, Recorded, Statistics, Subject
from tamis.expr.nodes import Column
from tamis.tables.recorded import RecordedFiles
from tamis.tables.scan_input import Part

__all__ = ["IndexedRecords", "with_records"]


@dataclass(frozen=True, slots=True, eq=False)
class IndexedRecords(Statistics):
    """Statistics of files that both a table format and an index describe.

    - `recorded`: the statistics of the format.
    - `indexed`: those of the index, of all rows that were written.
    - `is_whole`: True where no row of a file was deleted.
    """

    recorded: Statistics
    indexed: Statistics
    is_whole: Flags
    _bounds: dict[Column, Bounds] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def num_containers(self) -> int:
        return len(self.is_whole)

    def bounds(self, column: Column) -> Bounds:
        recorded, indexed = self.recorded.bounds(column), self.indexed.bounds(column)
        if indexed.lower is None and indexed.upper is None:
            # perhaps not readable now, so the result is not kept
            return intersect(recorded, indexed)
        bounds = self._bounds.get(column)
        if bounds is None:
            with self._lock:
                bounds = self._bounds.setdefault(column, intersect(recorded, indexed))
        return bounds

    def expression(self, key: Recorded) -> Bounds | None:
        return self.indexed.expression(key)

    def members(self, subject: Subject) -> Members | None:
        return self.indexed.members(subject)

    def certain(self, column: Column) -> Certain:
        recorded, indexed = self.recorded.certain(column), self.indexed.certain(column)
        counted = np.where(self.is_whole, indexed.nulls, UNKNOWN)
        # two different numbers: one of them is wrong
        agree = (recorded.nulls == counted) | (counted == UNKNOWN)
        nulls = np.where(
            recorded.nulls == UNKNOWN, counted, np.where(agree, recorded.nulls, UNKNOWN)
        )
        one, other = self.recorded.bounds(column), self.indexed.bounds(column)
        ours, theirs = recorded.attained, indexed.attained & self.is_whole
        # An edge that only one side knows is a value of a row only if that side says so. If a side
        # has attained both of its edges, no bounds of the same rows are tighter.
        attained = (ours & theirs) | (ours & _has_edges(one)) | (theirs & _has_edges(other))
        return Certain(nulls, attained & ~contradict(one, other))

    def attained(self, passing: Passing) -> Flags:
        return self.indexed.attained(passing) & self.is_whole

    def empty(self) -> Flags | None:
        recorded, indexed = self.recorded.empty(), self.indexed.empty()
        if recorded is None or indexed is None:
            return indexed if recorded is None else recorded
        return recorded | indexed

    def grouped(self) -> tuple[Grouped, ...]:
        return self.indexed.grouped() if np.any(self.is_whole) else ()


def _has_edges(bounds: Bounds) -> Flags:
    """Return where both edges are known."""
    if bounds.lower is None or bounds.upper is None:
        return NO
    flags = YES
    for edge, known in (
        (bounds.lower, bounds.lower_known),
        (bounds.upper, bounds.upper_known),
    ):
        if not isinstance(edge, np.ndarray):
            flags = flags & np.asarray(edge.is_valid().to_numpy(zero_copy_only=False))
        elif known is not None:
            flags = flags & known
    return flags


def with_records(
    part: Part, recorded: RecordedFiles, is_whole: npt.NDArray[np.bool_]
) -> Iterator[tuple[Part, Statistics]]:
    """Yield the files of a part with what a table format and the index know about them.

    The index does not count the rows of files from which some were deleted.

    Args:
        part: The files.
        recorded: What the format records about all files.
        is_whole: True where no row of a file was deleted, by ordinal.
    """
    ordinals = np.arange(len(is_whole), dtype=np.intp)[part.ordinals]
    if part.index is None or part.statistics is None:
        yield part, _picked(recorded.statistics, part.ordinals)
        return
    flags = is_whole[ordinals]
    rows = (
        np.arange(len(part.index.files))[part.rows] if isinstance(part.rows, slice) else part.rows
    )
    for whole in (True, False):
        chosen = flags == whole
        if not chosen.any():
            continue
        some = part if chosen.all() else Part(ordinals[chosen], rows[chosen], part.index)
        assert some.statistics is not None
        statistics = IndexedRecords(
            _picked(recorded.statistics, some.ordinals), some.statistics, flags[chosen]
        )
        yield some if whole else Part(some.ordinals, some.rows, None, part.index), statistics


def _picked(statistics: Statistics, ordinals: slice | npt.NDArray[np.intp]) -> Statistics:
    if not isinstance(ordinals, slice):
        return statistics.take(ordinals)
    whole = ordinals == slice(0, statistics.num_containers)
    return statistics if whole else statistics.slice(ordinals.start, ordinals.stop)
