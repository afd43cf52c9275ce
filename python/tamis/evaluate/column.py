"""Columns: what the statistics say of them."""

from __future__ import annotations

from tamis.evaluate.bounds import Bounds
from tamis.evaluate.statistics import Statistics
from tamis.expr.nodes import Column

__all__ = ["column"]


def column(expr: Column, statistics: Statistics) -> Bounds:
    return statistics.bounds(expr)
