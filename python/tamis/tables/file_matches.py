"""Finds the files of a listing in indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.evaluation.statistics import Statistics
from tamis.indexing.read import freshness
from tamis.indexing.read.open_indexes import OpenIndex
from tamis.indexing.read.snapshot import Snapshot
from tamis.tables.scan_input import Part

__all__ = ["Match", "matched"]

#: Segments per index. Evaluating one more segment costs about as much as gathering 4,000 files.
_MAX_RUNS: Final = 32


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """The parts of one snapshot for one set of indexes, without the partition values."""

    parts: tuple[Part, ...]
    num_records: npt.NDArray[np.int64] | None
    total_records: int | None
    derived: dict[object, object] = field(default_factory=dict)
    _found: list[_Described] = field(default_factory=list)

    def with_records(
        self, combine: Callable[[Part], Iterator[tuple[Part, Statistics]]]
    ) -> _Described:
        """Return the parts with their statistics, as combined the first time: these cache."""
        if not self._found:
            self._found.append(tuple(each for part in self.parts for each in combine(part)))
        return self._found[0]


_Described: TypeAlias = tuple[tuple[Part, Statistics], ...]


def matched(snapshot: Snapshot, indexes: tuple[OpenIndex, ...]) -> Match:
    files = len(snapshot.files)
    everything: slice | npt.NDArray[np.intp] = slice(0, files)
    if not indexes:
        return Match((Part(everything, everything, None),), None, None)
    parts: list[Part] = []
    num_records = np.full(files, -1, np.int64)
    left = np.ones(files, bool)
    for index in indexes:
        rows = freshness.match(snapshot.files, index.files)
        if rows is None and not parts:
            parts = [Part(everything, everything, index)]
            num_records = index.num_records
            left[:] = False
            break
        if rows is None:
            rows = np.arange(files)
        ordinals = np.flatnonzero((rows != freshness.UNMATCHED) & left)
        if len(ordinals):
            parts += _runs(ordinals, rows[ordinals], index)
            num_records[ordinals] = index.num_records[rows[ordinals]]
            left[ordinals] = False
    if left.any():
        parts.append(Part(np.flatnonzero(left), slice(0, 0), None))
    total = None if (num_records < 0).any() else int(num_records.sum())
    return Match(tuple(parts), num_records, total)


def _runs(
    ordinals: npt.NDArray[np.intp], rows: npt.NDArray[np.int64], index: OpenIndex
) -> list[Part]:
    """Return files and their rows as a few runs, which are views, or as one part if there are many.

    After files were appended, or a few were rewritten, almost all files lie in runs.
    """
    breaks = np.flatnonzero((np.diff(ordinals) != 1) | (np.diff(rows) != 1)) + 1
    if len(breaks) >= _MAX_RUNS:
        return [Part(ordinals, rows, index)]
    starts = [0, *breaks.tolist()]
    stops = [*breaks.tolist(), len(ordinals)]
    return [
        Part(
            slice(int(ordinals[start]), int(ordinals[stop - 1]) + 1),
            slice(int(rows[start]), int(rows[stop - 1]) + 1),
            index,
        )
        for start, stop in zip(starts, stops, strict=True)
    ]
