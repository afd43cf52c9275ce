"""MIN and MAX: find the files that cannot change the result and need not be read.

For MIN(c), over the files of one group. MAX is its mirror image:

    file   passes   c                      MIN(c)
    f1     all      3 .. 7                 covered: MIN is 3 or less
    f2     some     3 .. 99                skipped: no value is less than 3
    f3     some     1 .. 9                 read
    f4     all      4 .. 5, truncated      (without f1) read: MIN is 5 or less
    f5     some     6 .. 9                 (without f1) skipped: no value is less than 6

`best` is the least value of the covered files. A file whose values are all >= best cannot lower it.

`witnessed` is the least upper bound of the files all of whose rows pass and that hold a value other
than NULL and NaN. Some row of such a file is <= that bound, so a file whose values are all
*greater* than the bound cannot go below this row. The bound of the witness never skips the file of
the witness itself, because its lower bound is not greater than its upper bound. So either the
witness row is read, or a covered file has a value that is at least as small.

If only some rows of a file pass, the row with the least value may be known to pass
(plan.goals.first_passing). Then this value is such a bound, too.

A file that has only NULLs changes nothing.

A group exists if a row passes: a row of a covered file, or of a file that is read as a witness.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Bounds, Flags
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Expr
from tamis.files.arrow_edges import as_array
from tamis.files.segments import Segment
from tamis.plan.goals.aggregate_functions import Aggregate, Function
from tamis.plan.goals.contributions import has_only_null, nulls_of
from tamis.plan.goals.first_passing import passes_first

__all__ = ["Known", "cannot_improve", "chosen"]

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What is known apart from the bounds of the files that are left.

    - `matching`: one flag per file, set if all of its rows pass.
    - `num_records`: the number of rows of each file, -1 where it is not known.
    - `keys`: the group of each file.
    - `grouped`: whether a group exists only if it has a row.
    - `combined`: one row per group that has rows in covered files, with its `key` and the value of
      aggregate k in column str(k).
    """

    matching: Flags
    num_records: Longs
    keys: npt.NDArray[np.intp]
    grouped: bool
    combined: pa.Table

    @property
    def groups(self) -> int:
        return int(self.keys.max()) + 1


def cannot_improve(
    aggregates: Sequence[Aggregate],
    segments: Sequence[Segment],
    left: Flags,
    known: Known,
    conjuncts: Sequence[Expr] = (),
) -> Flags:
    """Return one flag per file, set if it is left and cannot change the result.

    Args:
        aggregates: Only MIN and MAX. May be empty.
        segments: What is known of the rows of the files that pass.
        left: One flag per file, set if the file is kept and not covered.
        known: What the covered files contribute, and the groups of the files.
        conjuncts: All conjuncts of the filter, in their order.
    """
    witnessed = [_witnessed(each, segments, left, known, conjuncts) for each in aggregates]
    best = [
        _by_key(known.combined.column("key"), known.combined.column(str(k)), known.groups)
        for k in range(len(aggregates))
    ]
    exists = np.zeros(known.groups, np.bool_)
    exists[known.combined.column("key").to_numpy()] = True
    skipped = np.zeros(len(left), np.bool_)
    for segment in segments:
        for ordinals, statistics in chosen(segment, left):
            key = known.keys[ordinals]
            useless = np.ones(len(ordinals), np.bool_)
            exists_here = exists[key] | (not known.grouped)
            for each, values, bounds_of_rows in zip(aggregates, best, witnessed, strict=True):
                assert each.column is not None
                bounds = statistics.bounds(each.column)
                by_value = _beyond(each, bounds, values, key, strictly=False)
                by_row = _beyond(each, bounds, bounds_of_rows, key, strictly=True)
                useless &= by_value | by_row | has_only_null(bounds, len(key))
                exists_here = exists_here | by_row
            skipped[ordinals[useless & exists_here]] = True
    return skipped


def chosen(segment: Segment, wanted: Flags) -> Iterator[tuple[npt.NDArray[np.intp], Statistics]]:
    """Yield the ordinals and statistics of the wanted files of a segment, if there are any."""
    rows = np.flatnonzero(wanted[segment.ordinals])
    if len(rows):
        ordinals = segment.ordinals
        places = rows + ordinals.start if isinstance(ordinals, slice) else ordinals[rows]
        yield places, segment.statistics.take(rows)


def _beyond(
    aggregate: Aggregate, bounds: Bounds, limits: pa.Array, key: Longs, strictly: bool
) -> Flags:
    """Return where no value of a file is below the limit of its group (for MAX: above it)."""
    n = len(key)
    is_min = aggregate.function is Function.MIN
    edge = as_array(bounds.lower if is_min else bounds.upper, n, bounds.type)
    compare = {
        (True, True): pc.greater,
        (True, False): pc.greater_equal,
        (False, True): pc.less,
        (False, False): pc.less_equal,
    }[is_min, strictly]
    beyond = pc.fill_null(compare(edge, limits.take(pa.array(key)).cast(edge.type)), False)
    flags: Flags = np.asarray(beyond.to_numpy(zero_copy_only=False))
    # NaN is greater than every limit, and bounds do not include it.
    return flags if is_min else flags & ~bounds.can_be_nan


def _witnessed(
    aggregate: Aggregate,
    segments: Sequence[Segment],
    left: Flags,
    known: Known,
    conjuncts: Sequence[Expr],
) -> pa.Array:
    """Return for each group a bound with a row at or below it (MAX: above) in a file to be read."""
    assert aggregate.column is not None
    is_min = aggregate.function is Function.MIN
    keys: list[pa.Array] = [pa.array([], pa.int64())]
    edges: list[pa.Array] = []

    def add(ordinals: npt.NDArray[np.intp], certain: Flags, bounds: Bounds, is_upper: bool) -> None:
        edge = as_array(bounds.upper if is_upper else bounds.lower, len(ordinals), bounds.type)
        rows = pa.array(np.flatnonzero(certain))
        keys.append(pa.array(known.keys[ordinals], pa.int64()).take(rows))
        edges.append(edge.take(rows))

    for segment in segments:
        for ordinals, statistics in chosen(segment, left & ~known.matching):
            bounds = statistics.bounds(aggregate.column)
            passes = passes_first(aggregate.column, not is_min, conjuncts, statistics, bounds)
            add(ordinals, passes & bounds.can_be_value, bounds, is_upper=not is_min)
        for ordinals, statistics in chosen(segment, left & known.matching):
            records = known.num_records[ordinals]
            bounds = statistics.bounds(aggregate.column)
            nulls = nulls_of(statistics, aggregate.column, bounds, np.maximum(records, 0))
            # Not all rows are NULL and none is NaN, so some row has a value within the bounds.
            certain = (records > 0) & (nulls >= 0) & (nulls < records) & ~bounds.can_be_nan
            add(ordinals, certain, bounds, is_upper=is_min)
    if not edges:
        return pa.nulls(known.groups)
    table = pa.table({"key": pa.concat_arrays(keys), "edge": pa.concat_arrays(edges)})
    grouped = table.group_by("key").aggregate([("edge", aggregate.function)])
    return _by_key(
        grouped.column("key"), grouped.column(f"edge_{aggregate.function}"), known.groups
    )


def _by_key(keys: pa.ChunkedArray, values: pa.ChunkedArray, groups: int) -> pa.Array:
    """Return the values in the order of the keys 0 .. groups - 1, null where a key has none."""
    place = pc.index_in(pa.array(np.arange(groups)), value_set=keys.combine_chunks())
    return values.combine_chunks().take(place)
