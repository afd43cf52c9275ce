"""Functions that choose one of their arguments: coalesce, if, CASE, greatest, least, nanvl.

The result is one of the arguments, so it lies in the hull of those that may be chosen. An argument
that cannot be chosen in a container (its condition is never true there, or an earlier argument is
never NULL) contributes neither its bounds nor its NULLs to the hull of that container.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import NO, YES, Bounds
from tamis.evaluation.domain.flags import all_of, any_of
from tamis.evaluation.domain.hull import Choice, hull
from tamis.evaluation.domain.interval import interval
from tamis.evaluation.domain.truth import TruthSet
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.interpreter import truth, value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call
from tamis.expr.types import DOUBLE, FLOAT, DataType

__all__ = [
    "ENTRIES",
    "case_when",
    "choose",
    "coalesce",
    "greatest",
    "is_nan",
    "least",
    "nanvl",
]


def _values(call: Call, statistics: Statistics) -> list[Bounds] | None:
    """Return the bounds of the arguments; None unless all have the type of the result."""
    bounds = [value(argument, statistics) for argument in call.arguments]
    same = [each for each in bounds if each is not None and each.type == call.type]
    return same if same and len(same) == len(bounds) else None


def coalesce(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of coalesce: the first argument that is not NULL."""
    arguments = _values(call, statistics)
    if arguments is None:
        return None
    choices: list[Choice] = []
    reached = YES
    for x in arguments:
        choices.append((replace(x, can_be_null=NO), reached))
        reached = all_of((reached, x.can_be_null))
    return replace(hull(call.type, choices), can_be_null=reached)


def choose(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of if(condition, x, y), which is y if the condition is false or NULL."""
    return case_when(call, statistics) if len(call.arguments) == 3 else None


def case_when(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of CASE WHEN c1 THEN x1 … ELSE y END.

    The arguments are c1, x1, …, y. Without ELSE, y is missing and the default is NULL.
    """
    choices: list[Choice] = []
    reached = YES
    branches = len(call.arguments) // 2
    for ordinal in range(branches):
        condition, chosen = call.arguments[2 * ordinal : 2 * ordinal + 2]
        truths = truth(condition, statistics)
        x = value(chosen, statistics)
        if x is None or x.type != call.type:
            return None
        choices.append((x, all_of((reached, truths.can_be_true))))
        reached = all_of((reached, any_of((truths.can_be_false, truths.can_be_null))))
    if len(call.arguments) % 2:
        x = value(call.arguments[-1], statistics)
        if x is None or x.type != call.type:
            return None
    else:
        x = Bounds(call.type, None, None, YES, NO, NO)
    choices.append((x, reached))
    return hull(call.type, choices)


def nanvl(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of nanvl(x, y): y if x is NaN, else x."""
    arguments = _values(call, statistics)
    if arguments is None or len(arguments) != 2:
        return None
    x, y = arguments
    return hull(call.type, [(replace(x, can_be_nan=NO), YES), (y, x.can_be_nan)])


def is_nan(call: Call, statistics: Statistics) -> TruthSet:
    """Return the truth set of isnan(x), which is false for NULL and never NULL itself.

    If x may be anything, it may be unknown because a row may raise. NULL is possible there, so
    that no predicate over isnan(x) is proven for such a container.
    """
    x = value(call.arguments[0], statistics) if len(call.arguments) == 1 else None
    if x is None or x.type not in (FLOAT, DOUBLE):
        return TruthSet.anything()
    may_raise = all_of((x.can_be_null, x.can_be_nan, x.can_be_value))
    return TruthSet(x.can_be_nan, any_of((x.can_be_value, x.can_be_null)), may_raise)


def greatest(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of greatest: the greatest argument that is not NULL; NaN is the greatest.

    The result is at least as great as each argument that is never NULL.
    """
    arguments = _values(call, statistics)
    if arguments is None:
        return None
    whole = _one_of(call.type, arguments)
    numbers = [interval(each) for each in arguments]
    lower = whole.lower
    if isinstance(lower, np.ndarray):
        for each in numbers:
            assert each is not None
            counts = each.can_be_value & ~each.can_be_null
            lower = np.where(counts, np.maximum(lower, each.lower), lower)
    return replace(whole, lower=lower)


def least(call: Call, statistics: Statistics) -> Bounds | None:
    """Return the bounds of least: the least argument that is not NULL.

    The result is at most as great as each argument that is always an ordinary value.
    """
    arguments = _values(call, statistics)
    if arguments is None:
        return None
    whole = _one_of(call.type, arguments)
    numbers = [interval(each) for each in arguments]
    upper = whole.upper
    if isinstance(upper, np.ndarray):
        for each in numbers:
            assert each is not None
            counts = each.can_be_value & ~each.can_be_null & ~each.can_be_nan
            upper = np.where(counts, np.minimum(upper, each.upper), upper)
    return replace(whole, upper=upper)


def _one_of(data_type: DataType, arguments: Sequence[Bounds]) -> Bounds:
    """Return the bounds of any one of the arguments; NULL only where all of them may be NULL."""
    null = all_of(each.can_be_null for each in arguments)
    return replace(hull(data_type, [(each, YES) for each in arguments]), can_be_null=null)


ENTRIES: Final = (
    FunctionEntry(
        "Coalesce", "coalesce, nvl, ifnull", Knowledge.CHOICE, coalesce, never_raises=True
    ),
    FunctionEntry("If", "if, nullif, nvl2", Knowledge.CHOICE, choose, never_raises=True),
    FunctionEntry("CaseWhen", "CASE", Knowledge.CHOICE, case_when, never_raises=True),
    FunctionEntry("Greatest", "greatest", Knowledge.CHOICE, greatest, never_raises=True),
    FunctionEntry("Least", "least", Knowledge.CHOICE, least, never_raises=True),
    FunctionEntry("NaNvl", "nanvl", Knowledge.CHOICE, nanvl, never_raises=True),
    FunctionEntry("IsNaN", "isnan", Knowledge.MONOTONE, predicate=is_nan, never_raises=True),
)
