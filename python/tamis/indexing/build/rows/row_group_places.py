"""Which row group a row of a Parquet file is in, from its position in the file.

The readers of Spark number the rows of a file by the row counts of its footer. With at least `step`
rows in each row group but the first and the last one, `step` rows in sequence lie in at most two of
them:

    row groups of 5, 4 and 3 rows    0 1 2 3 4 | 5 6 7 8 | 9 10 11         step = 4
    steps                            0 1 2 3 / 4 5 6 7 / 8 9 10 11
    begin in                         0         0         1
    the next one begins at           -         5         9

So a row group is found with two lookups by row number DIV step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["STEPS", "place_sql", "steps_of"]

#: Steps of a file with more of them are not made: they would take too much memory.
STEPS: Final = 10_000
_NEVER: Final = (1 << 63) - 1


def steps_of(records: Sequence[int]) -> tuple[int, list[int], list[int]] | None:
    """Return step, the row group in which each step begins, and the row at which the next begins.

    Args:
        records: The number of rows of each row group.

    Returns:
        None if a row group has no rows or an unknown number of rows, or there are too many steps.

    >>> steps_of([5, 4, 3])
    (4, [0, 0, 1], [9223372036854775807, 5, 9])
    """
    counts = np.array(records, np.int64)
    if not len(counts) or (counts <= 0).any():
        return None
    total = int(counts.sum())
    step = int(counts[1:-1].min()) if len(counts) > 2 else total
    if -(-total // step) > STEPS:
        return None
    starts: npt.NDArray[np.int64] = np.cumsum(counts) - counts
    rows = np.arange(0, total, step)
    first = np.searchsorted(starts, rows, side="right") - 1
    following = np.append(starts, _NEVER)[first + 1]
    # within `step` rows at most one row group begins after the first of these rows
    boundaries = np.where(following < rows + step, following, _NEVER)
    return step, first.tolist(), boundaries.tolist()


def place_sql(row: str, step: str, first: str, boundaries: str) -> str:
    """Return SQL of the row group of a row."""
    at = f"CAST({row} DIV {step} AS INT)"
    return f"element_at({first}, {at} + 1) + IF({row} >= element_at({boundaries}, {at} + 1), 1, 0)"
