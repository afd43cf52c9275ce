"""Bounds can be written in several forms, and every function understands all of them.

An edge can be absent, or unknown in every container; an array can have one entry per container, or
a single one that holds for all. A function may say less about one form, but nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.domain.bounds import NO, Bounds
from tamis.expr.nodes import (
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
)
from tamis.expr.sql import to_sql
from tamis.expr.types import DOUBLE, LONG, STRING, DataType
from tests.differential.claims import Claim
from tests.differential.exact_claims import Table, claim_over, columns_of, table_of
from tests.evaluation.given import Given
from tests.evaluation.test_exact_bounds import (
    EXACT,
    NEAR,
    NULLS,
    PICKS,
    SINGLE,
    WIDE,
    WRAPS,
    _id,
    d,
    l,
    other,
    s,
    w,
)

COUNT = 3


Form = Callable[[Bounds], Bounds]


def _unknown_edge(bounds: Bounds, side: str) -> Bounds:
    """Return bounds with an edge that is written, but known nowhere."""
    edge = getattr(bounds, side)
    if isinstance(edge, np.ndarray):
        ends = (-np.inf, np.inf) if bounds.type.is_floating else bounds.type.domain
        end = ends[side == "upper"]
        known: Any = np.zeros(COUNT, np.bool_)
        return replace(bounds, **{side: np.full(COUNT, end, edge.dtype), f"{side}_known": known})
    return replace(bounds, **{side: pa.nulls(COUNT, edge.type), f"{side}_known": NO})


def _without(side: str) -> Form:
    return lambda bounds: replace(bounds, **{side: None, f"{side}_known": None})


def _repeated(bounds: Bounds) -> Bounds:
    return bounds.take(np.zeros(COUNT, np.intp))


def _single(side: str | None) -> Form:
    """Return a form in which one edge, or everything, has a single entry."""
    names = ("lower", "upper", "can_be_null", "can_be_nan", "can_be_value")
    chosen = names if side is None else (side,)
    return lambda bounds: replace(bounds, **{name: getattr(bounds, name)[:1] for name in chosen})


#: Two forms of the same bounds.
FORMS: dict[str, tuple[Form, Form]] = {
    "no lower edge": (_without("lower"), lambda bounds: _unknown_edge(bounds, "lower")),
    "no upper edge": (_without("upper"), lambda bounds: _unknown_edge(bounds, "upper")),
    "one entry": (lambda bounds: _single(None)(_repeated(bounds)), _repeated),
    "one lower edge": (lambda bounds: _single("lower")(_repeated(bounds)), _repeated),
    "one upper edge": (lambda bounds: _single("upper")(_repeated(bounds)), _repeated),
}
CALLS = list(dict.fromkeys((*EXACT, *WRAPS, *PICKS, *NEAR, *SINGLE, *NULLS)))


def _claim(tried: Expr, of_columns: dict[Column, Bounds]) -> Claim:
    return claim_over(tried, Table([[]] * COUNT, Given(of_columns, COUNT)))


@pytest.mark.parametrize("tried", CALLS[::2], ids=_id)
def test_functions_understand_both_forms(tried: Call) -> None:
    for form in FORMS:
        _compare(tried, form)


def _predicates() -> list[Expr]:
    """Return comparisons, lists and null checks of columns of each form of edge."""
    predicates: list[Expr] = []
    constants: dict[DataType, tuple[Any, ...]] = {
        LONG: (0, 5, -100, 1),
        DOUBLE: (0.5, 1.0, -2.5, 7.0),
        STRING: ("a", "ab", "é", ""),
        WIDE: tuple(Decimal(each).scaleb(-6) for each in (0, 49, 99, -150)),
    }
    for column in (l, d, s, w):
        options = constants[column.type]
        first = Literal(options[0], column.type)
        predicates += [Compare(op, column, first) for op in Comparison]
        predicates += [In(column, options[:count]) for count in (1, 2, 4)]
        predicates += [Not(each) for each in predicates[-3:]]
        predicates += [IsNull(column), Compare(Comparison.LESS, column, other(column))]
        predicates += [Compare(Comparison.EQUAL, column, other(column))]
    return predicates


@pytest.mark.parametrize("tried", _predicates(), ids=to_sql)
def test_predicates_understand_both_forms(tried: Expr) -> None:
    for form in FORMS:
        _compare(tried, form)


def _compare(tried: Expr, form: str) -> None:
    columns = columns_of(tried)
    statistics = table_of(columns).statistics
    one, other = FORMS[form]
    count = statistics.num_containers
    for places in ((0, 1, 2), (5, 2, count // 2), (count // 3, 1, 4)):
        chosen = statistics.take(np.array(places) % count)
        of_columns = {column: chosen.bounds(column) for column in columns}
        claims = [
            _claim(tried, {column: write(each) for column, each in of_columns.items()})
            for write in (one, other)
        ]
        if form == "one entry":
            assert claims[0] == claims[1], (form, places)
        for place in range(COUNT):
            assert _covers(claims[0], claims[1], place), (form, places)


def _covers(wide: Claim, narrow: Claim, place: int) -> bool:
    """Return whether one claim allows everything that the other allows."""
    lower, upper = wide.lower[place], wide.upper[place]
    return (
        wide.can_be_null[place] >= narrow.can_be_null[place]
        and wide.can_be_nan[place] >= narrow.can_be_nan[place]
        and wide.can_be_value[place] >= narrow.can_be_value[place]
        and (not narrow.can_be_value[place] or lower is None or lower <= narrow.lower[place])
        and (not narrow.can_be_value[place] or upper is None or upper >= narrow.upper[place])
    )
