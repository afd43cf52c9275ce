"""The result of the job over the order of rows for one entry: a number per file."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.indexing.format.entry_statistics import Columns

__all__ = ["orders_at"]


def orders_at(k: int, table: pa.Table, at: npt.NDArray[np.int64]) -> Columns:
    """Return 1 for files whose rows are sorted, 0 for others, NULL where that is not known.

    Args:
        k: The number of the entry in the table.
        table: One row per file, with the column `sorted<k>`.
        at: The row of each file in the table; -1: there is none, as for files without rows.
    """
    found = table.column(f"sorted{k}").cast(pa.int32()).combine_chunks()
    numbers = found.take(pa.array(at, mask=at < 0))
    nulls = pc.if_else(numbers.is_valid(), pa.scalar(0, pa.int64()), pa.scalar(None, pa.int64()))
    return Columns(columns={"min": numbers, "max": numbers, "null_count": nulls})
