"""Tags that Spark puts on an expression without changing its value."""

from __future__ import annotations

from dataclasses import replace

from tamis.evaluation.domain.bounds import NO, Bounds
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.interpreter import value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call

__all__ = ["ENTRIES", "known_not_null"]


def known_not_null(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of the argument, which is evaluated only where it is not NULL.

    For a Scala function f of a primitive, Spark writes IF(x IS NULL, NULL, f(KnownNotNull(x))). The
    tag is in the branch for the rows where x is not NULL, and says nothing about other rows.
    """
    if len(call.arguments) != 1:
        return None
    bounds = value(call.arguments[0], statistics)
    if bounds is None or bounds.type != call.type:
        return None
    return replace(bounds, can_be_null=NO)


ENTRIES = (
    FunctionEntry(
        "KnownNotNull",
        "primitive argument of a Scala UDF",
        Knowledge.MONOTONE,
        known_not_null,
        note="Spark wraps the argument in KnownNotNull for rows in which it is not NULL",
    ),
)
