"""Rules with one typical mistake each, which the sweeps have to report."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tamis.evaluation.domain.bounds import NO, YES, Bounds
from tamis.evaluation.domain.interval import result
from tamis.evaluation.functions.arithmetic.number_bounds import numbers
from tamis.evaluation.functions.temporal.timestamps import moment
from tamis.evaluation.interpreter import FUNCTIONS, ValueRule
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call

_MICROS = 1_000_000
# The correct rules, before a test replaces them.
_TRUE = dict(FUNCTIONS)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A rule with a mistake, the function that it is for, and SQL that reveals it, by type."""

    mistake: str
    function: str
    rule: ValueRule
    sweep: dict[str, tuple[str, ...]]


def _rounds_toward_zero(call: Call, statistics: Statistics) -> Bounds | None:
    x = moment(call, statistics)
    if x is None:
        return None
    low, high = (np.sign(edge) * (np.abs(edge) // _MICROS) for edge in (x.lower, x.upper))
    return result(call.type, low, high, x)


def _upper_edge_too_low(call: Call, statistics: Statistics) -> Bounds | None:
    bounds = _TRUE["DateAdd"](call, statistics)
    return (
        bounds
        if bounds is None or bounds.upper is None
        else replace(bounds, upper=bounds.upper - 1)
    )


def _lower_edge_too_high(call: Call, statistics: Statistics) -> Bounds | None:
    bounds = _TRUE["Length"](call, statistics)
    return (
        bounds
        if bounds is None or bounds.lower is None
        else replace(bounds, lower=bounds.lower + 1)
    )


def _without_null(call: Call, statistics: Statistics) -> Bounds | None:
    bounds = _TRUE["Factorial"](call, statistics)
    return bounds if bounds is None else replace(bounds, can_be_null=NO)


def _without_nan(call: Call, statistics: Statistics) -> Bounds | None:
    bounds = _TRUE["Sqrt"](call, statistics)
    return bounds if bounds is None else replace(bounds, can_be_nan=NO)


def _without_proof_of_range(call: Call, statistics: Statistics) -> Bounds | None:
    """x + n without the check that it stays in its type: `proven` omitted."""
    operands = numbers(call, statistics, 2)
    if operands is None or not call.type.is_integral:
        return _TRUE["Add"](call, statistics)
    x, y = operands
    return result(call.type, x.lower + y.lower, x.upper + y.upper, x, y, proven=YES)


WRONG = (
    Wrong(
        "rounds toward zero",
        "UnixSeconds",
        _rounds_toward_zero,
        {"timestamp": ("unix_seconds(x)",)},
    ),
    Wrong("upper edge one too low", "DateAdd", _upper_edge_too_low, {"date": ("date_add(x, 10)",)}),
    Wrong("lower edge one too high", "Length", _lower_edge_too_high, {"string": ("length(x)",)}),
    Wrong("NULL left out", "Factorial", _without_null, {"int": ("factorial(x)",)}),
    Wrong("NaN left out", "Sqrt", _without_nan, {"double": ("sqrt(x)",)}),
    Wrong("overflow left out", "Add", _without_proof_of_range, {"tinyint": ("x + y",)}),
)
