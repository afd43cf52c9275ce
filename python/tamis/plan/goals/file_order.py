"""The order of the rows of a task that reads whole files, one after the other.

A task reads files whose rows are each sorted by the same columns. Its rows are sorted if no row of
a file is after a row of the next file. Bounds of the first column show that: if every row of a file
is strictly before every row of the next one, the other columns do not matter. If there is only one
column, the last row of a file may equal the first row of the next one.

ORDER BY a, b      a         b
f1                 NULL, 3   ...      NULL and 3 are both before 4
f2                 4 .. 6    ...
f3                 6 .. 9    ...      a row of f2 with (6, 8) may be after a row of f3 with (6, 2)

The groups of NULL, values and NaN are those of `plan.goals.sort_keys`. A file whose rows may be in
several groups reaches from the first of these groups to the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import Edge, Flags
from tamis.expr.nodes import Column
from tamis.files.segments import Segment
from tamis.indexing.format.row_orders import SortColumn, order_key
from tamis.plan.goals.file_keys import key_of_files
from tamis.plan.goals.sort_keys import Group, KeyOfFiles, SortKey, joined, ranks

__all__ = ["Sortedness", "in_order", "sortedness"]

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sortedness:
    """What is recorded about the order of the rows of each file of a scan.

    - `sorted`: the rows are in the order.
    - `known`: it is recorded whether they are, or the file has no rows.
    - `empty`: the file has no rows.
    """

    sorted: Flags
    known: Flags
    empty: Flags


def sortedness(
    columns: Sequence[Column], descending: Sequence[bool], segments: Sequence[Segment], files: int
) -> Sortedness:
    """Return what is recorded about an order of the rows of each file.

    Args:
        columns: The columns of the order, as the query reads them.
        descending: Whether each of them descends.
        segments: Statistics of the files.
        files: The number of files.
    """
    result = Sortedness(*(np.zeros(files, np.bool_) for _ in range(3)))
    key = order_key(
        [
            SortColumn(tuple(column.path), str(column.type), down)
            for column, down in zip(columns, descending, strict=True)
        ]
    )
    for segment in segments:
        at, statistics = segment.ordinals, segment.statistics
        empty = statistics.empty()
        # without rows, no row is before its predecessor
        result.empty[at] |= False if empty is None else empty
        recorded = statistics.expression(key)
        if recorded is None or recorded.lower is None or recorded.upper is None:
            continue
        # 1: the rows were read, and none was before its predecessor. An unknown edge is the
        # extreme of its type, which is neither: not known is not sorted.
        result.sorted[at] |= recorded.lower == 1
        result.known[at] |= (recorded.lower == 1) | (recorded.upper == 0)
    result.sorted[:] |= result.empty
    result.known[:] |= result.empty
    return result


def in_order(
    columns: Sequence[Column],
    descending: Sequence[bool],
    segments: Sequence[Segment],
    files: Flags,
    tasks: Numbers,
) -> Numbers | None:
    """Return the order in which tasks have to read sorted files; None if there is none.

    Args:
        columns: The columns of the order; at least one.
        descending: Whether each of them descends.
        segments: Statistics of the files.
        files: The files, without those that have no rows.
        tasks: The number of the task of each file of the scan.

    Returns:
        A number for each file of the scan, by which each task sorts its files.
    """
    places = np.zeros(len(files), np.int64)
    chosen = np.flatnonzero(files)
    tasks_of = tasks[chosen]
    if len(np.unique(tasks_of)) == len(chosen):
        return places  # each task reads one file
    shared = np.zeros(len(files), np.bool_)
    _, task, counts = np.unique(tasks_of, return_inverse=True, return_counts=True)
    shared[chosen[counts[task] > 1]] = True
    # Spark's default: NULLS FIRST for ASC, NULLS LAST for DESC
    key = SortKey(columns[0], descending[0], not descending[0], len(columns) == 1)
    found = key_of_files(key, (), segments, shared)
    # a file that no segment describes has no bounds
    if found is None or len(found.ordinals) < int(shared.sum()):
        return None
    return _chained(key, found, tasks, places)


def _chained(key: SortKey, found: KeyOfFiles, tasks: Numbers, places: Numbers) -> Numbers | None:
    first, last = _reach(key, found)
    near, far = np.split(ranks(joined([found.near, found.far]), key.descending), 2)
    task = tasks[found.ordinals]
    order = np.lexsort((far, near, last, first, task))
    one, two = order[:-1], order[1:]
    both = task[one] == task[two]
    value = key.groups.index(Group.VALUE)
    touching = (last[one] == value) & (first[two] == value)
    # far(one) < near(two): every value of one is before every value of two. With a single column,
    # rows with equal values may be in any order.
    apart = (far[one] <= near[two]) if key.only else (far[one] < near[two])
    apart &= _is_known(found.far)[one] & _is_known(found.near)[two]
    # NULL equals NULL and NaN equals NaN, so these are in order too if no other column decides
    equal = (last[one] == first[two]) & ~touching & key.only
    in_place = (last[one] < first[two]) | (touching & apart) | equal
    if not in_place[both].all():
        return None
    places[found.ordinals[order]] = np.arange(len(order))
    return places


def _reach(key: SortKey, found: KeyOfFiles) -> tuple[Numbers, Numbers]:
    """Return the first and the last group that each file may have rows in, by their places."""
    may_be = np.stack([found.may_be[group] for group in key.groups])
    count = len(key.groups)
    # a file that can have no row in any group has no rows, and is before all others
    first = np.where(may_be.any(axis=0), may_be.argmax(axis=0), 0)
    last = np.where(may_be.any(axis=0), count - 1 - may_be[::-1].argmax(axis=0), -1)
    return first.astype(np.int64), last.astype(np.int64)


def _is_known(edge: Edge) -> Flags:
    # numpy edges are all known: the extreme of a type is a true bound
    if isinstance(edge, pa.Array):
        return np.asarray(edge.is_valid().to_numpy(zero_copy_only=False))
    return np.ones(len(edge), np.bool_)
