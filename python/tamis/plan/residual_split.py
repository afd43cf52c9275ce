"""Estimate whether it pays off to scan the fully matching files separately, without the filter.

saved per row of these files   evaluating the filter, and reading columns that only it needs
added per row                  combining the rows of both scans
added per query                planning the second scan and running its tasks; this is what
                               spark.tamis.residualSplit.minSaved stands for

All costs are in nanoseconds of one core, measured on Spark 4.1 over files in memory, and rounded so
that they favor not splitting. The extension asks only about filters with a function, and about
filters that are the only use of a column of strings or bytes (SplitResidual).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tamis.expr.nodes import Expr
from tamis.plan.cost import row_cost

__all__ = ["saved_by_splitting"]

#: The cost of reading a value of a column.
_READ_NUMBER: Final = 2.0
_READ_TEXT: Final = 30.0
#: The cost of copying a row, and each of its values, into a Union.
_ROW: Final = 10.0
_VALUE: Final = 5.0


def saved_by_splitting(
    rows: int, others: int, residual: Sequence[Expr], freed: Sequence[str], columns: int
) -> float:
    """Return the nanoseconds that a split saves, not counting the second scan.

    Args:
        rows: The number of rows of the fully matching files.
        others: The number of rows of the other files.
        residual: The conjuncts that are applied to the rows.
        freed: As in wire.goals.SplitGoal.
        columns: As in wire.goals.SplitGoal.
    """
    text = sum(each.startswith(("string", "binary")) for each in freed)
    read = _READ_TEXT * text + _READ_NUMBER * (len(freed) - text)
    saved = rows * (read + sum(map(row_cost, residual)))
    return saved - (rows + others) * (_ROW + _VALUE * columns)
