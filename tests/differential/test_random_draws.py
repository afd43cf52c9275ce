"""Random predicates and calls draw from the registries: new functions need no extra line."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import cast

import pytest

from tamis.expr.nodes import Call, Column, type_of
from tamis.expr.types import INTEGER, DataType
from tests.cases.tables import CASES, TABLES
from tests.differential.random_calls import _chosen, calls_in, calls_of_tables, random_call
from tests.differential.random_predicates import conjunction, predicate, swept_of
from tests.differential.random_tables import Leaf, RandomTable
from tests.differential.random_values import KINDS


def _table(sql_type: str) -> RandomTable:
    """Return a table with one column x, without files."""
    (kind,) = [kind for kind in KINDS if kind.sql == sql_type]
    rng = random.Random(1)
    samples = tuple(kind.value(rng, position / 10) for position in range(10))
    return cast("RandomTable", SimpleNamespace(leaves=(Leaf("x", kind, samples),)))


def test_swept_expressions_of_case_tables_are_drawn() -> None:
    for table in TABLES:
        for kind, expressions in getattr(table, "SWEEP", {}).items():
            names = [each.sql for each in KINDS if each.sql.partition("(")[0].lower() == kind]
            for name in names:
                assert set(expressions) <= set(swept_of(name))


@pytest.mark.parametrize("draw", [predicate, conjunction])
def test_random_predicates_contain_functions_with_a_case_table(draw: object) -> None:
    rng, table = random.Random(20_261_121), _table("INT")
    assert callable(draw)
    assert any("factorial(" in draw(rng, table) for _ in range(4000))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.sql)
def test_every_column_type_has_swept_functions(kind: object) -> None:
    sql = str(getattr(kind, "sql", None))
    assert len(swept_of(sql)) > 5


def test_random_calls_contain_functions_with_a_case_table() -> None:
    rng, column = random.Random(1), Column(("c",), INTEGER)
    drawn = {
        call.name
        for _ in range(2000)
        for call in calls_in(random_call(rng, column))
        if isinstance(call, Call)
    }
    assert "Factorial" in drawn


def test_new_option_changes_only_the_choices_that_pick_it() -> None:
    options = [f"option {number}" for number in range(20)]
    before, after = (
        [_chosen(random.Random(seed), each, str) for seed in range(2_000)]
        for each in (options, [*options[:7], "new", *options[7:]])
    )
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert set(changed) == {"new"}
    assert 60 < len(changed) < 140  # one of 21
    assert all(60 < before.count(each) < 140 for each in options)


def test_calls_of_case_tables_are_grouped_by_column_type() -> None:
    types: set[DataType | None] = {type_of(case.column) for case in CASES}
    assert set(calls_of_tables()) <= types
    for data_type, calls in calls_of_tables().items():
        for call in calls:
            assert [a.type for a in call.arguments if isinstance(a, Column)] == [data_type]
