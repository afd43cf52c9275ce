"""Verdicts: whether none, some or all rows of each container satisfy a predicate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.interpreter import truth
from tamis.evaluation.nodes import operators as operators  # fills the registry
from tamis.evaluation.nodes.ranges import narrowed
from tamis.evaluation.statistics import Statistics
from tamis.evaluation.udf.declared import relies_on_declaration
from tamis.evaluation.verdict import Verdict
from tamis.expr.nodes import Expr

if TYPE_CHECKING:
    from tamis.files.partition import PartitionField

__all__ = ["Verdict", "evaluate", "verdicts"]

_NAMES = [str(verdict) for verdict in (Verdict.NONE, Verdict.SOME, Verdict.ALL)]
_NONE, _SOME, _ALL = range(3)


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

    >>> from tamis.evaluation.example import TABLE
    >>> from tamis.expr.nodes import Column, Compare, Comparison, Literal
    >>> from tamis.expr.types import LONG
    >>> above = Compare(Comparison.GREATER, Column(("c",), LONG), Literal(5, LONG))
    >>> evaluate(above, TABLE).to_pylist()
    ['none', 'some', 'some', 'all']
    """
    # tamis.files imports the bounds of this package: an import at the top would be circular.
    from tamis.files.table import ArrowStatistics

    try:
        if isinstance(files, pa.RecordBatch):
            files = pa.Table.from_batches([files])
        codes = verdicts(expr, ArrowStatistics(files, partition_spec))
    except Exception:  # after any failure nothing is proven: every file is read and filtered
        codes = np.full(getattr(files, "num_rows", 0), _SOME, np.int8)
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(_NAMES)).dictionary_decode()


def verdicts(expr: Expr, statistics: Statistics) -> npt.NDArray[np.int8]:
    """Return the verdict of each container: 0 is none, 1 is some, 2 is all.

    Verdicts depend only on the rows for which the predicate is true, so the ranges of a column may
    be intersected first (`narrowed` keeps exactly these rows).
    """
    truths = truth(narrowed(expr), statistics)
    count = statistics.num_containers
    codes = np.full(count, _SOME, np.int8)
    if not relies_on_declaration(expr):
        codes[_each(~(truths.can_be_false | truths.can_be_null), count)] = _ALL
    # NONE is set last: a container in which no flag is True has no rows, which is NONE, not ALL.
    codes[_each(~truths.can_be_true, count)] = _NONE
    empty = statistics.empty()
    if empty is not None:
        codes[_each(empty, count)] = _NONE
    return codes


def _each(flags: Flags, count: int) -> Flags:
    return np.broadcast_to(flags, (count,))
