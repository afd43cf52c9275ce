"""IS NULL. A field of a struct is NULL where its struct is; NULL counts of a leaf count both."""

from __future__ import annotations

from tamis.evaluate.bounds import NO, YES
from tamis.evaluate.flags import any_of
from tamis.evaluate.interpreter import value
from tamis.evaluate.statistics import Statistics
from tamis.evaluate.truth import TruthSet
from tamis.expr.nodes import IsNull

__all__ = ["is_null"]


def is_null(expr: IsNull, statistics: Statistics) -> TruthSet:
    """True where the child is NULL, false where it is a value or NaN; never NULL itself."""
    child = value(expr.child, statistics)
    if child is None:
        return TruthSet(YES, YES, NO)
    return TruthSet(child.can_be_null, any_of((child.can_be_value, child.can_be_nan)), NO)
