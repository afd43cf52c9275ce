"""A small table of file statistics for the examples in docstrings."""

from __future__ import annotations

import pyarrow as pa

from tamis.files.table import ArrowStatistics

__all__ = ["FILES", "TABLE"]

#: Four files whose rows hold c = (3, 4), (3, 7), (6, 7, NULL) and (6, 7).
TABLE = pa.table(
    {
        "path": ["a", "b", "c", "d"],
        "num_records": [2, 2, 3, 2],
        "min.c": [3, 3, 6, 6],
        "max.c": [4, 7, 7, 7],
        "null_count.c": [0, 0, 1, 0],
    }
)
FILES = ArrowStatistics(TABLE)
