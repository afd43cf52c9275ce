"""Verdicts on the files of a table of statistics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tamis.evaluation import SOME, Verdict, verdicts
from tamis.expr.nodes import Expr
from tamis.files.partition import PartitionField
from tamis.files.table import ArrowStatistics

__all__ = ["evaluate"]

_NAMES = [str(verdict) for verdict in (Verdict.NONE, Verdict.SOME, Verdict.ALL)]


def evaluate(
    expr: Expr, files: pa.Table, partition_spec: Sequence[PartitionField] = ()
) -> pa.Array:
    """Return what the statistics of each file prove about a predicate: "none", "some" or "all".

    "none": no row satisfies the predicate, so the file need not be read. "all": every row satisfies
    it, so the predicate need not be applied. "some": neither is proven. A file that is known to be
    empty gets "none". Never raises: an expression that cannot be evaluated gives "some".

    Args:
        expr: The predicate.
        files: One row per file, with the columns `num_records`, `min.c`, `max.c`, `null_count.c`
            and `nan_count.c` for a column c (dots for struct fields), and `partition.<field>`. A
            null cell or an absent column means "not known".
        partition_spec: The fields of the `partition.<field>` columns.

    Returns:
        One string per file, in the order of `files`.

    >>> from tamis.files.example import TABLE
    >>> from tamis.expr.nodes import Column, Compare, Comparison, Literal
    >>> from tamis.expr.types import LONG
    >>> above = Compare(Comparison.GREATER, Column(("c",), LONG), Literal(5, LONG))
    >>> evaluate(above, TABLE).to_pylist()
    ['none', 'some', 'some', 'all']
    """
    try:
        if isinstance(files, pa.RecordBatch):
            files = pa.Table.from_batches([files])
        codes = verdicts(expr, ArrowStatistics(files, partition_spec))
    except Exception:  # after any failure nothing is proven: every file is read and filtered
        codes = np.full(getattr(files, "num_rows", 0), SOME, np.int8)
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(_NAMES)).dictionary_decode()
