"""The aggregates that statistics may answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tamis.evaluation.statistics import Subject
from tamis.expr.nodes import Call, Column, Expr, Opaque, type_of
from tamis.expr.types import DataType
from tamis.plan.goals.wide_sums import LIMBS

__all__ = ["Aggregate", "Function", "cells_to_combine"]


class Function(StrEnum):
    COUNT = "count"  # rows whose value is not NULL; all rows if there is no column
    MIN = "min"
    MAX = "max"
    SUM = "sum"  # of whole numbers, or of the unscaled values of decimals
    DISTINCT = "approx_count_distinct"  # its registers: see evaluation.domain.registers

    @property
    def is_recorded(self) -> bool:
        """Whether only recorded aggregates answer it: bounds and counts never do."""
        return self in (Function.SUM, Function.DISTINCT)

    @property
    def is_null_of_nothing(self) -> bool:
        """Whether a set of rows without a value contributes NULL instead of 0."""
        return self in (Function.MIN, Function.MAX, Function.DISTINCT)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate function of an expression over the columns of a row.

    - `argument`: the expression. COUNT(*) has none.
    - `limit`: of a SUM. Spark computes it exactly if all of its partial sums are between -limit and
      limit, exclusive; otherwise it may overflow or round.
    - `filter`: the condition of FILTER (WHERE …): only rows for which it is true count.
    - `sketch`: of DISTINCT. What its registers depend on: see registers.sketch_kind.
    """

    function: Function
    argument: Expr | None
    limit: int = 0
    filter: Expr | None = None
    sketch: str | None = None

    @property
    def kind(self) -> str:
        """The kind of the recorded aggregate with the same value."""
        return self.sketch or self.function

    @property
    def column(self) -> Column | None:
        return self.argument if isinstance(self.argument, Column) else None

    @property
    def subject(self) -> Subject | None:
        """The argument as statistics know it. None if they do not; COUNT(*) has none either."""
        if isinstance(self.argument, Call | Opaque):
            return self.argument.key
        return self.column

    @property
    def type(self) -> DataType | None:
        return None if self.argument is None else type_of(self.argument)

    @property
    def is_of_column(self) -> bool:
        """Whether the bounds of a column, or the number of rows, may be enough to compute it."""
        is_plain = self.argument is None or self.column is not None
        return is_plain and not self.function.is_recorded


def cells_to_combine(aggregate: Aggregate, name: str) -> dict[str, str]:
    """Return the columns in which contributions to an aggregate are kept, and how to combine them.

    A SUM has the number of its values, and the limbs of the sums of positive and negative values.
    The registers of a DISTINCT are collected, and then merged.
    """
    if aggregate.function in (Function.MIN, Function.MAX):
        return {name: aggregate.function}
    if aggregate.function is Function.DISTINCT:
        return {name: "list"}
    cells = {name: "sum"}
    if aggregate.function is Function.SUM:
        cells |= {f"{name}.{sign}{j}": "sum" for sign in "pn" for j in range(LIMBS)}
    return cells
