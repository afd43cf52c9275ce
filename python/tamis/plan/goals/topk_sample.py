"""ORDER BY with LIMIT, MIN and MAX: choose files whose rows show at run time which files to read.

If a filter decides which rows count, statistics rarely prove that some files hold n rows. But n
rows of *any* files are enough for a proof once they have been read: if n rows of the sample pass
the filter and are at or before a position T, then the n-th row of the whole table is at or before
T, and no file that begins after T is needed (plan.goals.topk has the argument). So the query reads
the sample first, only its sort keys and the columns of the filter, and uses the n-th key as T.
Which files are sampled is a guess, and no result depends on it.

The best sample is small and ends early in the sort order: files are taken by their far edge, the
earliest first, until they are expected to hold `_SAFETY` times n rows that pass (plan.selectivity).
T is then expected to be no later than the far edge of the last file of the sample, which predicts
what is left to read. If fewer than n rows of the sample pass, a second, larger sample is read. It
contains the first, because T has to come from n rows.

MIN(c) needs the first row of ORDER BY c, and MAX(c) that of ORDER BY c DESC, where NULL is last.
Only its key matters, so the scan reads the files of the sample, and of the others those that may
hold a row *before* it. A file with only some copies of the least value is then not read.

A sample pays off only if reading it costs little compared with what it saves. Its cost is limited,
because it is lost if T rules nothing out. Costs are in nanoseconds of one core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Flags
from tamis.plan.goals.sort_keys import Group, KeyOfFiles, Numbers, SortKey, ranks
from tamis.plan.goals.topk import Boundary, first_files, placed

__all__ = ["Reading", "guessed_at_near", "reading_costs", "sample_of_extremes", "samples"]

Costs = npt.NDArray[np.float64]

#: How many times the rows that are needed a sample is expected to hold.
_SAFETY: Final = 4
#: How many times the expected rows of the first sample the second one holds.
_WIDER: Final = 16
#: The largest share of the cost of the scan that a sample may cost: of the first, of the second.
_MOST: Final = (1 / 10, 1 / 20)
#: How many times `least` a sample has to save. The second one is rarely needed.
_TIMES_LEAST: Final = (1, 5)
#: The largest share of the cost of the scan that sample and scan together may be expected to cost.
_PAYS: Final = 1 / 2
#: Opening a file: metadata, the footer, and its share of a task.
_OPEN: Final = 3e6
#: The cost of reading a value of a column.
_READ_NUMBER: Final = 2.0
_READ_TEXT: Final = 30.0
#: The number of rows of a file is guessed from its size if it is not known.
_BYTES_OF_ROW: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The cost of reading each file of the scan: by the query, and as part of a sample."""

    query: Costs
    sample: Costs


def reading_costs(
    num_records: Numbers,
    sizes: Numbers,
    filter_cost: float,
    columns: Sequence[str],
    sampled: Sequence[str],
) -> Reading:
    """Return the costs of reading.

    Args:
        num_records: The number of rows of each file, -1 where it is not known.
        sizes: The size of each file in bytes.
        filter_cost: The cost of evaluating the filter for a row.
        columns: The types of the columns that the query reads.
        sampled: The types of the columns that are read of a sample.
    """
    rows = np.where(num_records < 0, sizes // _BYTES_OF_ROW, num_records)
    return Reading(
        _OPEN + rows * (filter_cost + _values(columns)),
        _OPEN + rows * (filter_cost + _values(sampled)),
    )


def _values(types: Sequence[str]) -> float:
    text = sum(each.startswith(("string", "binary")) for each in types)
    return _READ_TEXT * text + _READ_NUMBER * (len(types) - text)


def samples(
    rows: int,
    keys: Sequence[tuple[SortKey, KeyOfFiles]],
    expected: npt.NDArray[np.float64],
    reading: Reading,
    least: float,
    kept: Flags,
) -> list[Flags]:
    """Return the files of the samples to read, one after the other, at most two.

    Args:
        rows: The number of rows that the query needs.
        keys: The keys of the ORDER BY in the files of the scan, at least the first one.
        expected: The number of rows of each file that are expected to pass.
        reading: The cost of reading each file.
        least: The cost that a sample has to save. 0 stands for reading a sample wherever it may
            rule out a file, whatever it costs.
        kept: The files that the query reads without a sample.

    Returns:
        One flag per file for each sample. Empty if a sample is not expected to pay off.
    """
    first, places = keys[0][1], _usable(keys, expected, kept)
    held = np.cumsum(expected[first.ordinals[places]])
    chosen: list[Flags] = []
    sizes = (_SAFETY, _SAFETY * _WIDER)
    for times, most, saves in zip(sizes, _MOST, _TIMES_LEAST, strict=True):
        count = _enough(held, rows * times)
        if chosen and least > 0:
            # as much as the limit allows: more rows than in the first sample are a better chance
            costs = np.cumsum(reading.sample[first.ordinals[places]])
            count = min(count, int(np.searchsorted(costs, most * reading.query[kept].sum())))
        count = min(count, len(places)) if chosen or least == 0 else count
        if count > len(places) or (chosen and count <= int(chosen[0].sum())):
            break
        sample = np.zeros(len(kept), np.bool_)
        sample[first.ordinals[places[:count]]] = True
        left = _left(keys, sample, kept)
        if not _pays(sample, left, most, least * saves, reading, kept):
            break
        chosen.append(sample)
    return chosen


def sample_of_extremes(
    keys: Sequence[tuple[SortKey, KeyOfFiles]],
    expected: npt.NDArray[np.float64],
    reading: Reading,
    least: float,
    kept: Flags,
) -> Flags | None:
    """Return the files to read first for MIN and MAX, or None if that is not expected to pay off.

    The arguments are those of samples(), with one key per function: MIN is the first row of an
    ascending order, and MAX that of a descending one. The scan reads the sample, too, so that other
    files with rows at the values of the sample are not needed.
    """
    sample, left = np.zeros(len(kept), np.bool_), np.zeros(len(kept), np.bool_)
    for key, of_files in keys:
        places = _usable([(key, of_files)], expected, kept)
        count = _enough(np.cumsum(expected[of_files.ordinals[places]]), _SAFETY)
        count = min(count, len(places)) if least == 0 else count
        if not count or count > len(places):
            return None
        chosen = np.zeros(len(kept), np.bool_)
        chosen[of_files.ordinals[places[:count]]] = True
        sample |= chosen
        last = _last(key, of_files, chosen)
        # no place is counted: files with rows before the position, and those that are not known
        left |= kept if last is None else first_files(replace(key, only=True), of_files, last, kept)
    left |= sample
    return sample if _pays(sample, left, _MOST[0], least, reading, kept) else None


def guessed_at_near(of_files: KeyOfFiles, surely: Flags) -> KeyOfFiles:
    """Return the key of files as if all of their rows were at the near edge, where `surely` is set.

    For choosing a sample: if all rows of a file pass, its near edge is likely to be the key of one.
    """
    near, far = of_files.near, of_files.far
    if isinstance(near, np.ndarray):
        return replace(of_files, far=np.where(surely, near, far))
    return replace(of_files, far=pc.if_else(pa.array(surely), near, far))


def _enough(held: npt.NDArray[np.float64], rows: float) -> int:
    """Return how many of the first files are expected to hold so many rows."""
    return int(np.searchsorted(held, rows)) + 1


def _usable(
    keys: Sequence[tuple[SortKey, KeyOfFiles]], expected: npt.NDArray[np.float64], kept: Flags
) -> npt.NDArray[np.intp]:
    """Return the places of the first key that a sample may use, in the order of the far edges."""
    first = keys[0][1]
    usable = (
        kept[first.ordinals]
        & first.far_is_known()
        & first.may_be[Group.VALUE]
        & (expected[first.ordinals] > 0)
    )
    places = _in_order(keys, len(kept))
    return places[usable[places]]


def _last(key: SortKey, of_files: KeyOfFiles, sample: Flags) -> Boundary | None:
    """Return the position of the last row of a sample; None if it is not known."""
    places = np.flatnonzero(sample[of_files.ordinals] & of_files.far_is_known())
    if not len(places):
        return None
    latest = int(places[np.argmax(ranks(of_files.far, key.descending)[places])])
    return Boundary(Group.VALUE, of_files.far[latest], places[:0])


def _left(keys: Sequence[tuple[SortKey, KeyOfFiles]], sample: Flags, kept: Flags) -> Flags:
    """Return the files that are left if the n-th row is the last one of the sample."""
    key, of_files = keys[0]
    last = _last(key, of_files, sample)
    if last is None:
        return kept
    left = first_files(replace(key, only=False), of_files, last, kept)
    places = sample[of_files.ordinals] & of_files.far_is_known()
    if len(keys) == 1 or not of_files.all_at(last.value)[places].all():
        return left
    where = placed(key, of_files, last)
    tied = np.zeros(len(kept), np.bool_)
    tied[of_files.ordinals[where.at & ~where.before]] = True
    return left & (~tied | _left(keys[1:], sample, kept))


def _pays(
    sample: Flags, left: Flags, most: float, least: float, reading: Reading, kept: Flags
) -> bool:
    if least == 0:
        return bool(left.sum() < kept.sum())
    whole, part = reading.query[kept].sum(), reading.query[left].sum()
    cost = reading.sample[sample].sum()
    return bool(
        cost <= most * whole and cost + part <= _PAYS * whole and whole - part - cost >= least
    )


def _in_order(keys: Sequence[tuple[SortKey, KeyOfFiles]], files: int) -> npt.NDArray[np.intp]:
    """Return the places of the first key, by the far edges of all keys."""
    ordinals = keys[0][1].ordinals
    lines = []
    for key, of_files in keys:
        # a file without this key comes last among ties
        line = np.full(files, np.iinfo(np.int64).max)
        line[of_files.ordinals] = ranks(of_files.far, key.descending)
        lines.append(line[ordinals])
    return np.lexsort(lines[::-1])
