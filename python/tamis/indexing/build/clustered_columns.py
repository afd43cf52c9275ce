"""The columns by which the files of a table are clustered, from the bounds of the files.

files cover id      1 .. 10   11 .. 20   21 .. 30     a value lies in one file of three
files cover kind    a .. z    a .. y     b .. z       a value lies in all files
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.indexing.executor.columns_schema import Leaf

__all__ = ["clustered_columns"]

#: A table is rarely sorted by more columns, and each costs a column to read.
MOST: Final = 4
#: The greatest share of the files in which a value of such a column lies on average.
_SHARE: Final = 0.4


def clustered_columns(files: pa.Table, leaves: Sequence[Leaf]) -> list[tuple[str, ...]]:
    """Return the paths of the columns whose values lie in few files, the best ones first.

    Args:
        files: The statistics of the files, see `layout.FILES`.
        leaves: The columns to consider.

    >>> files = pa.table(
    ...     {"min.id": [1, 4, 8], "max.id": [3, 7, 9], "min.k": [1, 1, 1], "max.k": [9, 9, 9]}
    ... )
    >>> clustered_columns(files, [Leaf(("k",), "long"), Leaf(("id",), "long")])
    [('id',)]
    """
    shares = {leaf.path: _share(files, leaf) for leaf in leaves if leaf.type != "boolean"}
    # with few files a value lies in half of two files even if these do not overlap
    enough = max(_SHARE, 1.5 / max(1, len(files)))
    chosen = [path for path, share in shares.items() if share < 1 and share <= enough]
    return sorted(chosen, key=lambda path: shares[path])[:MOST]


def _share(files: pa.Table, leaf: Leaf) -> float:
    """Return the average share of the files that may hold a value of a column; 1.0: unknown."""
    names = f"min.{leaf.name}", f"max.{leaf.name}"
    if not all(name in files.column_names for name in names):
        return 1.0
    low, high = (files.column(name).combine_chunks() for name in names)
    known = pc.and_(low.is_valid(), high.is_valid())
    low, high = low.filter(known), high.filter(known)
    if len(low) < 2:
        return 1.0
    # Only the order matters: places in it, equal for equal values.
    ranks = pc.rank(pa.concat_arrays([low, high]), tiebreaker="dense").to_numpy().astype(np.int64)
    lower, upper = ranks[: len(low)], ranks[len(low) :]
    # The files that hold v begin at or below it, except those that end below it.
    begun = np.searchsorted(np.sort(lower), ranks, side="right")
    ended = np.searchsorted(np.sort(upper), ranks, side="left")
    unknown = len(files) - len(low)
    return float((np.mean(begun - ended) + unknown) / len(files))
