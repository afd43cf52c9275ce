"""Every table of cases, on statistics alone; and every table against the row interpreter."""

from __future__ import annotations

import pytest

from tamis.evaluate import verdicts
from tamis.expr.nodes import Expr
from tamis.expr.sql import to_sql
from tamis.files.table import ArrowStatistics
from tests.cases import (
    casts,
    comparison,
    functions,
    logic,
    membership,
    moments,
    nullness,
    numbers,
    ranges,
    texts,
)
from tests.cases.case import Case
from tests.differential.rows import row_value

CASES = (
    *comparison.CASES,
    *membership.CASES,
    *nullness.CASES,
    *logic.CASES,
    *functions.CASES,
    *ranges.CASES,
    *casts.CASES,
    *moments.CASES,
    *numbers.CASES,
    *texts.CASES,
)
NONE, SOME, ALL = range(3)


def _each(kind: str) -> list[object]:
    return [
        pytest.param(case, predicate, id=f"{case.data}: {to_sql(predicate)}")
        for case in CASES
        for predicate in getattr(case, kind)
    ]


def _verdict(case: Case, predicate: Expr) -> int:
    return int(verdicts(predicate, ArrowStatistics(case.files))[0])


@pytest.mark.parametrize(("case", "predicate"), _each("hits"))
def test_hit_is_read(case: Case, predicate: Expr) -> None:
    assert _verdict(case, predicate) != NONE


@pytest.mark.parametrize(("case", "predicate"), _each("misses"))
def test_miss_is_not_read(case: Case, predicate: Expr) -> None:
    assert not any(row_value(predicate, row) is True for row in case.rows)
    assert _verdict(case, predicate) == NONE


@pytest.mark.parametrize(("case", "predicate"), _each("full"))
def test_full_match_needs_no_filter(case: Case, predicate: Expr) -> None:
    assert all(row_value(predicate, row) is True for row in case.rows)
    assert _verdict(case, predicate) == ALL
