"""What a server's statistics prove about filters."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tamis.evaluation import NONE, verdicts
from tamis.expr.nodes import And, Expr
from tamis.files.table import ArrowStatistics
from tamis.remote.contract import TableStatistics

__all__ = ["rules_out_all"]


def rules_out_all(conjuncts: Sequence[Expr], statistics: TableStatistics) -> bool:
    """Return whether no row of the table passes all conjuncts.

    The table is evaluated as one file with these bounds. The number of its rows is unknown and does
    not affect the verdict, so the file is described as having one row. A column that has no values
    is NULL in this row.

    >>> from tamis.expr.nodes import Column, Compare, Comparison, Literal
    >>> from tamis.expr.types import LONG
    >>> from tamis.remote.contract import ColumnStatistics
    >>> known = ColumnStatistics(pa.scalar(1), pa.scalar(9))
    >>> over = Compare(Comparison.GREATER, Column(("n",), LONG), Literal(9, LONG))
    >>> rules_out_all([over], TableStatistics(columns={"n": known}))
    True
    """
    if not conjuncts:
        return False
    cells: dict[str, pa.Array] = {"num_records": pa.array([1], pa.int64())}
    for name, column in statistics.columns.items():
        if column.minimum is not None:
            cells[f"min.{name}"] = pa.repeat(column.minimum, 1)
        if column.maximum is not None:
            cells[f"max.{name}"] = pa.repeat(column.maximum, 1)
        nulls = 0 if column.has_nulls is False else 1 if column.has_values is False else None
        cells[f"null_count.{name}"] = pa.array([nulls], pa.int64())
    whole = conjuncts[0] if len(conjuncts) == 1 else And(tuple(conjuncts))
    return bool(verdicts(whole, ArrowStatistics(pa.table(cells)))[0] == NONE)
