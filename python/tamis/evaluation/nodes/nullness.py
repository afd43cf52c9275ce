"""IS NULL.

A struct field is NULL wherever its struct is NULL. The null count of a leaf column counts NULLs of
the field and of the struct.
"""

from __future__ import annotations

from tamis.evaluation.domain.bounds import NO, YES
from tamis.evaluation.domain.flags import any_of
from tamis.evaluation.domain.truth import TruthSet
from tamis.evaluation.interpreter import value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import IsNull

__all__ = ["is_null"]


def is_null(expr: IsNull, statistics: Statistics) -> TruthSet:
    """IS NULL: true for NULL, false for ordinary values and NaN, never NULL."""
    child = value(expr.child, statistics)
    if child is None:
        return TruthSet(YES, YES, NO)
    return TruthSet(child.can_be_null, any_of((child.can_be_value, child.can_be_nan)), NO)
