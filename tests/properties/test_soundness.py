"""Laws that hold for every predicate over every table of statistics."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tamis.evaluation import verdicts
from tamis.evaluation.interpreter import truth
from tamis.evaluation.nodes.ranges import narrowed
from tamis.expr.nodes import And, Compare, Comparison, Literal, Not, Or
from tamis.expr.rewrites import simplify
from tamis.files.table import ArrowStatistics
from tamis.files.verdicts import evaluate
from tests.differential.generate import (
    POOLS,
    Case,
    random_case,
    random_limits,
    random_predicate,
)
from tests.differential.rows import row_value
from tests.differential.verdicts import check

randoms = st.randoms(use_true_random=False)
NONE, SOME, ALL = range(3)


@given(randoms)
def test_no_row_contradicts_a_verdict(random: Random) -> None:
    case = random_case(random, containers=4)
    predicate = random_predicate(random, case.columns)
    assert not [str(wrong) for wrong in check(predicate, case, Counter())]


@given(randoms)
def test_evaluate_hides_no_error_of_verdicts(random: Random) -> None:
    """`evaluate` answers "some" if evaluation fails, `verdicts` raises: both must agree."""
    case = random_case(random, containers=4)
    statistics = ArrowStatistics(case.files, case.partition_spec)
    predicate = random_predicate(random, case.columns)
    names = ["none", "some", "all"]
    answer = evaluate(predicate, case.files, case.partition_spec).to_pylist()
    assert [names[code] for code in verdicts(predicate, statistics)] == answer


@given(randoms)
def test_verdicts_of_comparisons_are_exact_with_complete_statistics(random: Random) -> None:
    case = random_case(random, containers=6, perfect=True)
    column = random.choice(case.columns)
    value = random.choice(POOLS[column.type][0])
    op = random.choice([op for op in Comparison if op not in ("=", "<>", "<=>")])
    predicate = Compare(op, column, Literal(value, column.type))
    codes = verdicts(predicate, ArrowStatistics(case.files))
    for code, rows in zip(codes, case.containers, strict=True):
        truths = [row_value(predicate, row) is True for row in rows]
        expected = NONE if not any(truths) else ALL if all(truths) else SOME
        assert code == expected, (predicate, rows)


@given(randoms)
def test_not_swaps_can_be_true_and_can_be_false(random: Random) -> None:
    case = random_case(random, containers=4)
    statistics = ArrowStatistics(case.files, case.partition_spec)
    predicate = random_predicate(random, case.columns)
    once, other = truth(predicate, statistics), truth(Not(predicate), statistics)
    np.testing.assert_array_equal(once.can_be_true, other.can_be_false)
    np.testing.assert_array_equal(once.can_be_false, other.can_be_true)
    np.testing.assert_array_equal(once.can_be_null, other.can_be_null)


@given(randoms)
def test_verdict_of_and_is_at_most_and_of_or_at_least_its_operands(random: Random) -> None:
    case = random_case(random, containers=4)
    statistics = ArrowStatistics(case.files, case.partition_spec)
    parts = (random_predicate(random, case.columns, 1), random_predicate(random, case.columns, 1))
    each = [verdicts(part, statistics) for part in parts]
    assert (verdicts(And(parts), statistics) <= np.minimum(*each)).all()
    assert (verdicts(Or(parts), statistics) >= np.maximum(*each)).all()


@given(randoms)
def test_simplified_predicates_have_the_same_value_on_every_row(random: Random) -> None:
    case = random_case(random, containers=3)
    predicate = random_predicate(random, case.columns)
    simplified = simplify(predicate)
    for row in (row for rows in case.containers for row in rows):
        assert row_value(simplified, row) is row_value(predicate, row), (predicate, simplified)


@given(randoms)
def test_narrowed_predicates_match_the_same_rows(random: Random) -> None:
    case = random_case(random, containers=3)
    predicate = random_predicate(random, case.columns)
    if random.random() < 0.7:
        predicate = random_limits(random, random.choice(case.columns), case.columns)
    other = narrowed(predicate)
    rows = [row for rows in case.containers for row in rows]
    rows += [{path: _another(random, case, path) for path in row} for row in rows]
    for row in rows:
        same = (row_value(other, row) is True) == (row_value(predicate, row) is True)
        assert same, (predicate, other, row)


def _another(random: Random, case: Case, path: tuple[str, ...]) -> Any:
    column = next(each for each in case.columns if each.path == path)
    return random.choice([None, *POOLS[column.type][0]])


@given(randoms)
def test_narrowed_predicates_prove_at_least_as_much(random: Random) -> None:
    case = random_case(random, containers=4)
    statistics = ArrowStatistics(case.files, case.partition_spec)
    predicate = random_limits(random, random.choice(case.columns), case.columns)
    plain = simplify(predicate)
    truths = truth(plain, statistics)
    codes = verdicts(predicate, statistics)
    empty = statistics.empty()
    none = np.broadcast_to(~truths.can_be_true, codes.shape)
    every = np.broadcast_to(~(truths.can_be_false | truths.can_be_null), codes.shape)
    assert (codes[none] == NONE).all(), (predicate, narrowed(predicate))
    still = every & ~none if empty is None else every & ~none & ~empty
    assert (codes[still] == ALL).all(), (predicate, narrowed(predicate))


@given(randoms)
def test_missing_statistics_never_prove_more(random: Random) -> None:
    case = random_case(random, containers=4, perfect=True)
    predicate = random_predicate(random, case.columns)
    dropped = random.choice(case.files.column_names)
    codes = verdicts(predicate, ArrowStatistics(case.files))
    less = verdicts(predicate, ArrowStatistics(case.files.drop_columns([dropped])))
    empty = np.array([not rows for rows in case.containers])  # every verdict is right for them
    assert ((less == codes) | (less == SOME) | empty).all()
