"""The rule for columns: their bounds in the statistics."""

from __future__ import annotations

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Column

__all__ = ["column"]


def column(expr: Column, statistics: Statistics) -> Bounds:
    return statistics.bounds(expr)
