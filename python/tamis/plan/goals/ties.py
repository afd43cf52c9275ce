"""ORDER BY of several keys with LIMIT: let later keys decide between files with ties.

plan.goals.topk finds a position B of the first key, and all files with rows at B stay. If every row
of a file is at B, the bounds of the second key place its rows among the ties. Let `missing` be n
minus the rows that are certain to be strictly before B, and let C be a position of the second key
such that at least `missing` rows at B are for certain at or before C. Then at least n rows are at
or before (B, C), and a row at B that is strictly after C is not among the first n rows. A file is
needed if it may hold a row before B, or a row at B whose second key may be at or before C. Bounds
of the second key over all rows of a file hold for its rows at B. The same argument holds for the
third key among the ties of the second.

ORDER BY a, b LIMIT 4    rows   a         b
f1                       3      x         1 .. 5
f2                       3      x         4 .. 9    B = x, C = 9
f3                       5      x         10 .. 20  (x, 10) is after (x, 9): skipped
f4                       5      w .. x    30 .. 40  may hold a w: stays
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import Flags
from tamis.plan.goals.sort_keys import Group, KeyOfFiles, SortKey
from tamis.plan.goals.topk import Boundary, boundary, first_files, placed, surely_before

__all__ = ["FirstFiles", "first_by_all"]

#: Derives the key of the files that a flag is set for, or None.
KeyOf = Callable[[SortKey, Flags], KeyOfFiles | None]


@dataclass(frozen=True, slots=True, eq=False)
class FirstFiles:
    """The files that are needed, and the position of the first key that has enough rows."""

    files: Flags
    position: Boundary


def first_by_all(
    rows: int,
    keys: Sequence[SortKey],
    key_of: KeyOf,
    first: KeyOfFiles,
    matching: Flags,
    num_records: npt.NDArray[np.int64] | None,
    kept: Flags,
) -> FirstFiles | None:
    """Return the files of `kept` that can hold one of the first rows, or None if none is ruled out.

    Args:
        rows: The number of rows that are needed.
        keys: The keys of the ORDER BY, from the first. Only the last one may be `only`.
        key_of: Derives a later key. It is called for the files with ties.
        first: The first key in the files.
        matching: The files all of whose rows pass, or all of whose rows with a first key.
        num_records: As in topk.boundary.
        kept: The files to choose from.
    """
    key = keys[0]
    position = boundary(rows, key, first, matching, num_records)
    if position is None or num_records is None:
        return None
    files = first_files(key, first, position, kept)
    if len(keys) == 1 or position.group is not Group.VALUE:
        return FirstFiles(files, position)
    where = placed(key, first, position)
    tied = np.zeros(len(kept), np.bool_)
    # Only rows at B decide about these files. A file that may hold a row before B stays.
    tied[first.ordinals[where.at & ~where.before]] = True
    tied &= files
    ties = np.zeros(len(kept), np.bool_)
    ties[first.ordinals[first.all_at(position.value)]] = True
    missing = rows - surely_before(key, first, position, matching, num_records)
    counted = tied & matching & ties
    second = key_of(keys[1], tied) if tied.sum() > 1 and missing > 0 and counted.any() else None
    if second is None:
        return FirstFiles(files, position)
    # one row that passes and is at the near edge of the second key need not be at B
    second = replace(second, passes=np.zeros(len(second.ordinals), np.bool_))
    later = first_by_all(missing, keys[1:], key_of, second, counted, num_records, tied)
    if later is None:
        return FirstFiles(files, position)
    # Not tied: may hold a row before B, or nothing is known about it.
    return FirstFiles((files & ~tied) | later.files, position)
