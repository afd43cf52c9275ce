"""Shrinking removes the parts that a difference does not need."""

from __future__ import annotations

import random

import pytest

from tests.differential.grammar import Grammar
from tests.differential.random_tables import make
from tests.differential.tree import Items, Tree, node, operands, size, smaller
from tests.differential.worlds import random_world


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a = 1", []),
        ("a = 1 AND b = 2", ["a = 1", "b = 2"]),
        ("(a = 1 OR (b = 2 AND c = 3))", ["a = 1", "(b = 2 AND c = 3)"]),
        ("NOT (a = 1 AND b = 2)", ["a = 1 AND b = 2"]),
        ("a BETWEEN 1 AND 2 AND b = ' AND '", ["a BETWEEN 1 AND 2", "b = ' AND '"]),
        ("`x AND y` = 1 OR s = 'it\\'s OR'", ["`x AND y` = 1", "s = 'it\\'s OR'"]),
    ],
)
def test_predicate_text_is_split_into_its_operands(text: str, parts: list[str]) -> None:
    assert operands(text) == parts


def _shrunk(tree: Tree, needed: tuple[str, ...]) -> str:
    """Return the smallest tree whose text still contains all of these."""
    progress = True
    while progress:
        progress = False
        for each in smaller(tree):
            if all(word in str(each) for word in needed):
                tree, progress = each, True
                break
    return str(tree)


def test_shrinking_keeps_only_the_needed_parts() -> None:
    inner = node("query", "SELECT a FROM t", Items(" WHERE ", " AND ", (
        node("pred", "a = 1"), node("pred", "(b = 2 OR c = 3)"))))  # fmt: skip
    tree = node("query", Items("SELECT ", ", ", (node("item", "a"), node("item", "bb")), 1), " FROM (",
                inner, ") q", Items(" ORDER BY ", ", ", (node("key", "a"),)))  # fmt: skip
    assert _shrunk(tree, ("c = 3",)) == "SELECT a FROM t WHERE c = 3"
    assert _shrunk(tree, ("ORDER",)) == "SELECT a FROM (SELECT a FROM t) q ORDER BY a"


def test_reductions_are_smaller() -> None:
    rng = random.Random(5)
    grammar = Grammar(rng, [make(rng, "t0"), make(rng, "u0")])
    for _ in range(15):
        tree = grammar.statement().query
        assert all(size(each) < size(tree) for each in smaller(tree))


def test_same_seed_draws_the_same_world_and_statements() -> None:
    def draw() -> tuple[str, list[str]]:
        rng = random.Random("7/0")
        world = random_world(rng, 0)
        grammar = Grammar(rng, world.tables)
        return world.script(""), [grammar.statement().sql for _ in range(50)]

    assert draw() == draw()


def test_statements_use_every_production() -> None:
    rng = random.Random(3)
    grammar = Grammar(rng, [make(rng, "t0"), make(rng, "u0")])
    text = "\n".join(grammar.statement().sql for _ in range(2000))
    for word in ["LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN",
                 "LATERAL (", "LATERAL VIEW", "USING (", "UNION ALL", " UNION ", "INTERSECT", "EXCEPT",
                 "ROLLUP", "CUBE", "GROUPING SETS", "HAVING", "DISTINCT", "OVER (", "WITH w", "RECURSIVE",
                 " IN (SELECT", "NOT IN (SELECT", "EXISTS (SELECT", "NOT EXISTS", "(SELECT max(",
                 "coalesce(", "nvl2(", "IS NULL THEN", "greatest(", "nullif(", "ORDER BY", "LIMIT",
                 "OFFSET", "UNPIVOT", "VALUES", "_metadata", "FILTER (WHERE"]:  # fmt: skip
        assert word in text, word
