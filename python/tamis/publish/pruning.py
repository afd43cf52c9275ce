"""The parts of a table that may have rows for which all filters are true.

First the files are ruled out, then the row groups of those that are left, each by the planner's own
code. A part *matches* a filter if all of its row groups have the verdict "all".
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation import ALL, verdicts
from tamis.evaluation.domain.bounds import Flags
from tamis.expr.nodes import Expr
from tamis.expr.rewrites import simplify
from tamis.plan.scan_decision import Order, narrow, rule_out
from tamis.publish.footer_cache import FileFooter
from tamis.publish.part_reader import Part, PartReader
from tamis.publish.table_statistics import TableStatistics
from tamis.sources.file_source import DataFile

__all__ = ["Snapshot", "exact_filters"]

Ordinals: TypeAlias = npt.NDArray[np.intp]
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The files of a table at one time.

    - `version`: by which the table finds the same files again; empty for a directory.
    - `schema`: the columns; in a directory, those of partitions are last.
    - `files`, `footers`: the files, and what their footers say.
    - `statistics`: statistics of files and row groups.
    - `reader`: reads parts.
    """

    version: str
    schema: pa.Schema
    files: tuple[DataFile, ...]
    footers: tuple[FileFooter, ...]
    statistics: TableStatistics
    reader: PartReader

    @cached_property
    def rows(self) -> int | None:
        """The number of rows; None: unknown for some file."""
        if self.reader.listing.deleted:
            return None
        counts = [each.statistics.num_records for each in self.footers]
        return None if None in counts else sum(each or 0 for each in counts)

    def surviving(
        self, filters: Sequence[Expr] = (), *, whole_files: bool = False
    ) -> tuple[Part, ...]:
        """Return the parts that may have rows for which all filters are true. Never raises.

        Args:
            filters: Conjuncts over the columns of `schema`.
            whole_files: Whether to return files rather than row groups.
        """
        try:
            return tuple(self._surviving([simplify(each) for each in filters], whole_files))
        except Exception:  # a filter that cannot be evaluated rules out nothing
            _LOG.warning(
                "the filters of a scan of %s cannot be evaluated, so all of its files are read: "
                "report this error",
                self.reader.table,
                exc_info=True,
            )
            nothing = (False,) * len(filters)
            return tuple(self._whole(place, nothing) for place in range(len(self.files)))

    def pieces(self, part: Part) -> Iterator[Part]:
        """Yield the row groups of a part one by one; the part itself if they are not known."""
        footer = self.footer_of(part).statistics
        for each in () if part.row_groups is None else part.row_groups:
            size = self.footer_of(part).sizes[each]
            yield Part(part.file, (each,), footer.row_groups[each].num_records, size)
        if part.row_groups is None:
            yield part

    def footer_of(self, part: Part) -> FileFooter:
        """Return the footer of the file of a part."""
        return self.footers[self._places[part.file.path]]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {file.path: place for place, file in enumerate(self.files)}

    def _surviving(self, filters: Sequence[Expr], whole_files: bool) -> list[Part]:
        order = Order(filters)
        kept = np.ones(len(self.files), np.bool_)
        for segment in self.statistics.segments:
            narrow(kept, segment, order)
        matching = self._matching_files(filters)
        groups = _Groups(self.statistics, kept, order, filters)
        parts = []
        for place in np.flatnonzero(kept).tolist():
            survivors = groups.survivors(place)
            if survivors is None:
                parts.append(self._whole(place, tuple(matching[:, place].tolist())))
            elif len(survivors):
                if whole_files:
                    survivors = groups.all_of(place)
                matches = matching[:, place] | groups.matching(place, survivors)
                parts.append(self._part(place, survivors.tolist(), matches))
        return parts

    def _matching_files(self, filters: Sequence[Expr]) -> npt.NDArray[np.bool_]:
        """Return, for each filter and file, whether every row of the file passes."""
        matching = np.zeros((len(filters), len(self.files)), np.bool_)
        for segment in self.statistics.segments:
            for k, each in enumerate(filters):
                matching[k, segment.ordinals] = verdicts(each, segment.statistics) == ALL
        return matching

    def _whole(self, place: int, matches: tuple[bool, ...]) -> Part:
        file = self.files[place]
        return Part(file, None, self.footers[place].statistics.num_records, file.size, matches)

    def _part(self, place: int, ordinals: list[int], matches: Flags) -> Part:
        footer = self.footers[place]
        rows = sum(footer.statistics.row_groups[each].num_records for each in ordinals)
        size = sum(footer.sizes[each] for each in ordinals)
        return Part(self.files[place], tuple(ordinals), rows, size, tuple(matches.tolist()))


class _Groups:
    """The row groups of kept files: which may have matching rows, and which have no others."""

    def __init__(
        self, statistics: TableStatistics, kept: Flags, order: Order, filters: Sequence[Expr]
    ) -> None:
        self._first = statistics.first
        chosen = np.flatnonzero(np.repeat(kept, np.diff(statistics.first)))
        groups = statistics.groups.take(chosen)
        flags = np.ones(len(chosen), np.bool_)
        rule_out(flags, groups, order)
        self._kept = np.zeros(int(statistics.first[-1]), np.bool_)
        self._kept[chosen] = flags
        self._matching = np.zeros((len(filters), len(self._kept)), np.bool_)
        for k, each in enumerate(filters):
            self._matching[k, chosen] = verdicts(each, groups) == ALL

    def survivors(self, place: int) -> Ordinals | None:
        """Return the surviving row groups of a file; None: its row groups are not known."""
        first, stop = self._first[place], self._first[place + 1]
        return None if first == stop else np.flatnonzero(self._kept[first:stop])

    def all_of(self, place: int) -> Ordinals:
        """Return all row groups of a file."""
        return np.arange(self._first[place + 1] - self._first[place], dtype=np.intp)

    def matching(self, place: int, ordinals: Ordinals) -> Flags:
        """Return for each filter whether every row of these row groups of a file passes."""
        flags: Flags = np.logical_and.reduce(
            self._matching[:, ordinals + self._first[place]], axis=1
        )
        return flags


def exact_filters(parts: Sequence[Part], filters: int) -> list[int]:
    """Return the ordinals of the filters that every row of every part passes.

    >>> file = DataFile("a", 0, 0)
    >>> exact_filters(
    ...     [Part(file, (0,), 1, 1, (True, True)), Part(file, (1,), 1, 1, (True, False))], 2
    ... )
    [0]
    """
    return [k for k in range(filters) if all(part.matches[k] for part in parts)]
