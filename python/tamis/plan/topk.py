"""ORDER BY with LIMIT: which files can hold one of the first n rows.

The place of a row in an ORDER BY is first of all that of its group and value for the first key
(plan.sort_keys). Let B be a place such that at least n rows that pass the filters surely stand at B
or before it. Then the n-th row stands at B or before it, whatever the other keys say, and a file
all of whose rows stand strictly after B holds none of the first n. Rows at B itself are ties: later
keys decide between them, so their files stay. n rows are counted like this:

  Only in fully matching files (plan.fully_matching) whose number of rows is known: all their rows
  pass. Where a filter on the key lets no NULL pass, a file may match but for its NULLs: then these
  do not count, and their number has to be known. Of such a file, each ordinary value stands at the
  far edge or before it, and one of them at the near edge where that is known to be a value of the
  file: of files that all overlap, a few have the first near edges. If it may hold NaN and NaN comes
  after the values, all that is known is that its rows stand at NaN or before it. NULLs stand in
  their own group, so they count there; where their number is not known: with NULLS FIRST all rows
  of the file stand no later than those that are not NULL, with NULLS LAST all of them stand no
  later than NULL.

A far edge that lies beyond the values of its file makes B later than need be: fewer files are
skipped. A near edge that lies before the values of its file makes the file stay. Neither skips a
file that holds a row at B or before it, so outer bounds are sound in both roles.

Where there is no other key, rows at B are as good as each other. Then all files that may hold a row
strictly before B are needed, and of the others so many that n rows at B or before it are there: the
first n of these rows have the same keys as the first n of all (those before B are all there, and
the rest have B), and of rows with equal keys ORDER BY promises no choice.

ORDER BY c LIMIT 4     rows   c         stands at or before
f1                     3      1 .. 5    5
f2                     3      4 .. 9    9                       B = 9: six rows, and 4 are enough
f3                     5      8 .. 20   20                      may hold an 8: stays
f4                     5      10 .. 30  30                      strictly after 9: skipped
If near edges are values, there are rows at 1 and 4, and two more of f1 by 5: B = 5, f3 is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.evaluate.bounds import Flags
from tamis.plan.sort_keys import Group, KeyOfFiles, Numbers, Ordinals, SortKey

__all__ = ["Boundary", "boundary", "first_files"]


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """A place at which, or before which, enough rows stand.

    value: of the ordinary ones, as an edge holds it; None of other groups.
    counted: places of the files whose rows were counted.
    """

    group: Group
    value: Any
    counted: Ordinals


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """Rows of fully matching files that stand in a group or before it: `rows` of each `place`."""

    places: Ordinals
    rows: Numbers


def first_files(key: SortKey, of: KeyOfFiles, found: Boundary, kept: Flags) -> Flags:
    """The files of `kept` that are needed, where boundary() found a place with enough rows.

    A file of which nothing is known is kept.
    """
    groups = key.groups
    earlier = np.zeros(len(of.ordinals), np.bool_)
    for group in groups[: groups.index(found.group)]:
        earlier |= of.may_be[group]
    at = of.may_be[found.group]
    if key.only:
        if found.group is Group.VALUE:
            earlier |= at & of.may_stand(True, found.value)
        needed = earlier
        needed[found.counted] = True
    else:
        if found.group is Group.VALUE:
            at = at & of.may_stand(False, found.value)
        needed = earlier | at
    files = kept.copy()
    files[of.ordinals[~needed]] = False
    return files


def boundary(
    rows: int,
    key: SortKey,
    of: KeyOfFiles,
    matching: Flags,
    num_records: npt.NDArray[np.int64] | None,
) -> Boundary | None:
    """The earliest place that is seen to have `rows` rows at it or before it; None: there is none.

    matching: of keys_of_files.matching_files. num_records: rows of each file, -1 where they are not
    known; None: known of none.
    """
    if num_records is None:
        return None
    total = np.where(matching[of.ordinals], num_records[of.ordinals], -1)
    before = _Counted(np.empty(0, np.intp), np.empty(0, np.int64))
    held = 0
    for group, counted in _contributions(key, of, total):
        missing = rows - held
        if group is Group.VALUE:
            found = _among_values(missing, of, counted)
            if found is not None:
                value, chosen = found
                return Boundary(group, value, np.concatenate([before.places, chosen]))
        elif int(counted.rows.sum()) >= missing:
            chosen = _fewest(missing, counted)
            return Boundary(group, None, np.concatenate([before.places, chosen]))
        held += int(counted.rows.sum())
        before = _Counted(
            np.concatenate([before.places, counted.places]),
            np.concatenate([before.rows, counted.rows]),
        )
    return None


def _contributions(
    key: SortKey, of: KeyOfFiles, total: Numbers
) -> Iterator[tuple[Group, _Counted]]:
    """Group by group, first to last: the rows that surely stand in it or before it, each once."""
    passes = of.may_be[Group.NULL]
    known, counted = total > 0, of.nulls >= 0
    count = np.clip(of.nulls, 0, np.maximum(total, 0))
    # Where nobody knows how many are NULL: if none of them passes, nobody knows how many do; else
    # with NULLS FIRST all stand no later than those that are not NULL, and with NULLS LAST, all
    # that is sure is the end.
    uncounted = total if key.nulls_first else 0
    others = np.where(counted, total - count, np.where(passes, uncounted, 0))
    others = np.where(known, others, 0)
    at_end = 0 if key.nulls_first else total
    nulls = np.where(known & passes, np.where(counted, count, at_end), 0)
    value, nan = of.may_be[Group.VALUE], of.may_be[Group.NAN]
    # Rows that are not NULL stand in the later one of the groups that are possible.
    in_values = value if key.descending else value & ~nan
    in_nan = nan & ~value if key.descending else nan
    # No row that is not NULL: all of them are.
    only_null = passes & ~(value | nan)
    nulls = np.where(only_null & known, total, nulls)
    shares = {
        Group.NULL: nulls,
        Group.VALUE: np.where(in_values, others, 0),
        Group.NAN: np.where(in_nan, others, 0),
    }
    for group in key.groups:
        places = np.flatnonzero(shares[group] > 0)
        yield group, _Counted(places, shares[group][places])


def _among_values(missing: int, of: KeyOfFiles, counted: _Counted) -> tuple[Any, Ordinals] | None:
    """The earliest edge with `missing` rows at it or before it, and files that hold so many."""
    rows = np.zeros(len(of.ordinals), np.int64)
    rows[counted.places] = counted.rows
    value = of.earliest(rows, missing)
    if value is None:
        return None
    held = of.surely_stand(rows, value)
    # files that are needed anyway first
    needed = of.may_stand(True, value) & (held > 0)
    chosen = np.flatnonzero(needed)
    missing -= int(held[chosen].sum())
    if missing > 0:
        others = np.flatnonzero(~needed & (held > 0))
        chosen = np.concatenate([chosen, _fewest(missing, _Counted(others, held[others]))])
    return value, chosen


def _fewest(missing: int, counted: _Counted) -> Ordinals:
    order = np.argsort(-counted.rows, kind="stable")
    last = int(np.searchsorted(np.cumsum(counted.rows[order]), missing))
    return counted.places[order[: last + 1]]
