"""Tags that Spark puts on an expression whose value it does not change."""

from __future__ import annotations

from dataclasses import replace

from tamis.evaluate.bounds import NO, Bounds
from tamis.evaluate.interpreter import value
from tamis.evaluate.statistics import Statistics
from tamis.evaluate.taught import Knowledge, Taught
from tamis.expr.nodes import Call

__all__ = ["TAUGHT", "known_not_null"]


def known_not_null(call: Call, statistics: Statistics) -> Bounds | None:
    """The argument, which is evaluated only where it is not NULL.

    Spark writes IF(x IS NULL, NULL, f(KnownNotNull(x))) for a Scala function f of a primitive: the
    tag stands in the branch of the rows whose x is a value, and says nothing of the others.
    """
    if len(call.arguments) != 1:
        return None
    bounds = value(call.arguments[0], statistics)
    if bounds is None or bounds.type != call.type:
        return None
    return replace(bounds, can_be_null=NO)


TAUGHT = (
    Taught(
        "KnownNotNull",
        "f(x) of a primitive x",
        Knowledge.MONOTONE,
        known_not_null,
        note="a tag of Spark's on arguments of Scala functions",
    ),
)
