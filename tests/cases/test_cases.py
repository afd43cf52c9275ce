"""Every table of cases, on statistics alone and against the row interpreter."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.evaluation import verdicts
from tamis.expr.nodes import Expr
from tamis.expr.sql import to_sql
from tamis.files.table import ArrowStatistics
from tests.cases.case import Case
from tests.cases.tables import CASES as CASES
from tests.differential.generate import POOLS
from tests.differential.rows import row_value

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
def test_file_with_a_hit_is_read(case: Case, predicate: Expr) -> None:
    assert _verdict(case, predicate) != NONE


@pytest.mark.parametrize(("case", "predicate"), _each("misses"))
def test_file_without_a_match_is_not_read(case: Case, predicate: Expr) -> None:
    assert not any(row_value(predicate, row) is True for row in case.rows)
    assert _verdict(case, predicate) == NONE


@pytest.mark.parametrize(("case", "predicate"), _each("full"))
def test_fully_matching_file_needs_no_filter(case: Case, predicate: Expr) -> None:
    assert all(row_value(predicate, row) is True for row in case.rows)
    assert _verdict(case, predicate) == ALL


@given(st.randoms(use_true_random=False))
def test_no_row_contradicts_a_verdict(random: Random) -> None:
    """Evaluate predicates of the tables over random rows, and over rows of the table itself."""
    case = random.choice([case for case in CASES if case.hits or case.misses or case.full])
    predicate = random.choice((*case.hits, *case.misses, *case.full))
    pool = [*case.data, *case.data, *POOLS.get(case.column.type, ([],))[0], None]
    chosen = Case(case.column, tuple(random.choices(pool, k=random.randint(1, 4))))
    truths = [row_value(predicate, row) is True for row in chosen.rows]
    verdict = _verdict(chosen, predicate)
    assert verdict == SOME or truths == [verdict == ALL] * len(truths), (predicate, chosen.data)
