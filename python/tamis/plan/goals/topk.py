"""ORDER BY with LIMIT: find the files that can hold one of the first n rows.

The position of a row in an ORDER BY is determined first by its group and value for the first key
(plan.goals.sort_keys). Let B be a position such that at least n rows that pass the filters are for
certain at or before B. Then the n-th row is at or before B, whatever the other keys are, and a file
all of whose rows are strictly after B holds none of the first n rows. Rows at B itself are ties:
later keys decide between them, so their files stay. The n rows are counted as follows:

- Fully matching files (plan.goals.fully_matching) count if their number of rows is known: all of
  their rows pass. If a filter on the key lets no NULL pass, a file may match except for its NULLs.
  Then the NULLs do not count, and their number has to be known.
- Of another file, one row counts if a row at its near edge is known to pass
  (plan.goals.first_passing).
- Each ordinary value of a fully matching file is at or before the far edge. One of them is at the
  near edge if that edge is known to be a value of the file. This helps if all files overlap,
  because a few of them have the first near edges.
- If the file may hold NaN and NaN comes after the values, it is only known that the rows are at or
  before NaN.
- NULLs have their own group and count there. If their number is not known, then with NULLS FIRST
  all rows of the file are no later than its rows that are not NULL, and with NULLS LAST all rows
  are no later than NULL.

If a table format has deleted rows of a file, the number of rows is that of the rows that are left.
Each of them was among those that the bounds describe, so it is at or before the far edge. The row
at the near edge may be gone, so this edge is not known to be a value. The number of NULLs that are
left is not known either.

A far edge that lies beyond the values of its file makes B later than necessary, so fewer files are
skipped. A near edge that lies before the values of its file makes the file stay. Neither skips a
file that holds a row at or before B, so outer bounds are sound in both roles.

If another key follows, plan.goals.ties narrows the choice among the files with rows at B.

If there is no other key, rows at B are interchangeable. Then all files are needed that may hold a
row strictly before B, and enough of the others to have n rows at or before B. The first n of these
rows have the same keys as the first n of all rows: those before B are all included, and the rest
have the key B. Among rows with equal keys, ORDER BY does not promise a choice.

ORDER BY c LIMIT 4     rows   c         at or before
f1                     3      1 .. 5    5
f2                     3      4 .. 9    9               B = 9: six rows, and 4 are enough
f3                     5      8 .. 20   20              may hold an 8: stays
f4                     5      10 .. 30  30              strictly after 9: skipped
If near edges are values, there are rows at 1 and 4, and two more rows of f1 at or before 5. Then
B = 5, and f3 is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import Flags
from tamis.plan.goals.sort_keys import Group, KeyOfFiles, Numbers, Ordinals, SortKey

__all__ = ["Boundary", "Placed", "boundary", "first_files", "placed", "surely_before"]


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """A position that has enough rows at or before it.

    - `group`: the group of the position.
    - `value`: the value of the position, as in an edge. None unless the group is VALUE.
    - `counted`: the places in KeyOfFiles of the files whose rows were counted.
    """

    group: Group
    value: Any
    counted: Ordinals


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """Rows of fully matching files in or before a group: the number of `rows` of each place."""

    places: Ordinals
    rows: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Where the rows of each place in KeyOfFiles may be, compared with a position.

    - `before`: whether a row may be strictly before the position.
    - `at`: whether a row may be at the position. For a position among values it is also set where
      rows are only known to be at or before it.
    """

    before: Flags
    at: Flags


def placed(key: SortKey, file_keys: KeyOfFiles, position: Boundary) -> Placed:
    """Return where rows may be. A file in neither flag has all of its rows after the position."""
    groups = key.groups
    before = np.zeros(len(file_keys.ordinals), np.bool_)
    for group in groups[: groups.index(position.group)]:
        before |= file_keys.may_be[group]
    at = file_keys.may_be[position.group]
    if position.group is Group.VALUE:
        before |= at & file_keys.may_stand(True, position.value)
        at = at & file_keys.may_stand(False, position.value)
    return Placed(before, at)


def first_files(key: SortKey, file_keys: KeyOfFiles, position: Boundary, kept: Flags) -> Flags:
    """Return the files of `kept` that are needed, given the position that boundary() returned.

    A file about which nothing is known is kept.
    """
    rows = placed(key, file_keys, position)
    if key.only:
        needed = rows.before
        needed[position.counted] = True
    else:
        needed = rows.before | rows.at
    files = kept.copy()
    files[file_keys.ordinals[~needed]] = False
    return files


def boundary(
    rows: int,
    key: SortKey,
    file_keys: KeyOfFiles,
    matching: Flags,
    num_records: npt.NDArray[np.int64] | None,
) -> Boundary | None:
    """Return the earliest position that provably has `rows` rows at or before it, or None.

    Args:
        rows: The number of rows that are needed.
        key: The first key of the ORDER BY.
        file_keys: The key in the files.
        matching: What file_keys.matching_files returned.
        num_records: The number of rows of each file, -1 where it is not known. None if it is known
            for no file.
    """
    if num_records is None:
        return None
    total = _total(file_keys, matching, num_records)
    before: list[Ordinals] = []
    total_rows = 0
    for group, counted in _contributions(key, file_keys, total):
        missing = rows - total_rows
        if group is Group.VALUE:
            position = _among_values(missing, file_keys, counted)
            if position is not None:
                value, chosen = position
                return Boundary(group, value, np.concatenate([*before, chosen]))
        elif int(counted.rows.sum()) >= missing:
            chosen = _fewest(missing, counted)
            return Boundary(group, None, np.concatenate([*before, chosen]))
        total_rows += int(counted.rows.sum())
        before.append(counted.places)
    return None


def surely_before(
    key: SortKey,
    file_keys: KeyOfFiles,
    position: Boundary,
    matching: Flags,
    num_records: npt.NDArray[np.int64],
) -> int:
    """Return a lower bound of how many rows that pass are strictly before a position among values.

    The other arguments are those of boundary().
    """
    rows = 0
    for group, counted in _contributions(key, file_keys, _total(file_keys, matching, num_records)):
        if group is position.group:
            at_far = np.zeros(len(file_keys.ordinals), np.int64)
            at_far[counted.places] = counted.rows
            # the far edge is before the position, and so is every row that counts there
            return rows + int(at_far[file_keys.far_before(position.value)].sum())
        rows += int(counted.rows.sum())
    return rows


def _total(file_keys: KeyOfFiles, matching: Flags, num_records: npt.NDArray[np.int64]) -> Numbers:
    """Return the number of rows of each place that pass; -1: not known, or not a matching file."""
    return np.where(matching[file_keys.ordinals], num_records[file_keys.ordinals], -1)


def _contributions(
    key: SortKey, file_keys: KeyOfFiles, total: Numbers
) -> Iterator[tuple[Group, _Counted]]:
    """Yield for each group, in order, the rows certainly in or before it. Each row counts once."""
    passes = file_keys.may_be[Group.NULL]
    known, counted = total > 0, file_keys.nulls >= 0
    count = np.clip(file_keys.nulls, 0, np.maximum(total, 0))
    # If the number of NULLs is not known and no NULL passes, the number of rows that pass is not
    # known either. If NULLs pass: with NULLS FIRST all rows are no later than those that are not
    # NULL, and with NULLS LAST all rows are only known to be no later than the end.
    uncounted = total if key.nulls_first else 0
    others = np.where(counted, total - count, np.where(passes, uncounted, 0))
    others = np.where(known, others, 0)
    at_end = 0 if key.nulls_first else total
    nulls = np.where(known & passes, np.where(counted, count, at_end), 0)
    value, nan = file_keys.may_be[Group.VALUE], file_keys.may_be[Group.NAN]
    # Rows that are not NULL count in the later one of the groups that they may be in.
    in_values = value if key.descending else value & ~nan
    in_nan = nan & ~value if key.descending else nan
    # If no row can be a value or NaN, all rows are NULL.
    only_null = passes & ~(value | nan)
    nulls = np.where(only_null & known, total, nulls)
    shares = {
        Group.NULL: nulls,
        # if the number is not known: one row that passes is at the near edge, which is attained
        Group.VALUE: np.where(file_keys.passes & ~known, 1, np.where(in_values, others, 0)),
        Group.NAN: np.where(in_nan, others, 0),
    }
    for group in key.groups:
        places = np.flatnonzero(shares[group] > 0)
        yield group, _Counted(places, shares[group][places])


def _among_values(
    missing: int, file_keys: KeyOfFiles, counted: _Counted
) -> tuple[Any, Ordinals] | None:
    """Return the earliest edge with `missing` rows at or before it, and files that hold them."""
    rows = np.zeros(len(file_keys.ordinals), np.int64)
    rows[counted.places] = counted.rows
    value = file_keys.earliest(rows, missing)
    if value is None:
        return None
    rows_before = file_keys.surely_stand(rows, value)
    # Count the files first that are needed in any case.
    needed = file_keys.may_stand(True, value) & (rows_before > 0)
    chosen = np.flatnonzero(needed)
    missing -= int(rows_before[chosen].sum())
    if missing > 0:
        others = np.flatnonzero(~needed & (rows_before > 0))
        chosen = np.concatenate([chosen, _fewest(missing, _Counted(others, rows_before[others]))])
    return value, chosen


def _fewest(missing: int, counted: _Counted) -> Ordinals:
    order = np.argsort(-counted.rows, kind="stable")
    last = int(np.searchsorted(np.cumsum(counted.rows[order]), missing))
    return counted.places[order[: last + 1]]
