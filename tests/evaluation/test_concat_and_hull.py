"""concat, and the hull of alternatives (CASE, coalesce, if), of strings with unknown edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tamis.evaluation.domain.bounds import NO, YES, Bounds
from tamis.evaluation.domain.hull import hull
from tamis.evaluation.functions.strings.concatenation import _pair
from tamis.evaluation.interpreter import truth, value
from tamis.expr.nodes import Call, Column, Compare, Comparison, Expr, Literal
from tamis.expr.types import BOOLEAN, LONG, STRING, DataType
from tests.evaluation.given import Given, between, texts

UNKNOWN = Bounds.unknown(STRING)


def edges(bounds: Bounds | None) -> tuple[Any, Any]:
    assert bounds is not None
    return tuple(  # type: ignore[return-value]
        None
        if edge is None
        else edge.tolist()
        if isinstance(edge, np.ndarray)
        else edge.to_pylist()
        for edge in (bounds.lower, bounds.upper)
    )


#: Both edges of x, those of y, and the edges of x || y.
JOINED: list[tuple[str, tuple[Any, Any], tuple[Any, Any], tuple[Any, Any]]] = [
    ("one x", ("a", "a"), ("b", "c"), (b"ab", b"ac")),
    ("x alone", ("a", "b"), ("x", "x"), (b"a", b"bx")),
    ("a beginning of x is greater", ("", "ba"), ("bz", "bz"), (b"", b"bz")),
    ("the whole x is greater", ("", "bc"), ("bb", "bb"), (b"", b"bcbb")),
    ("the shortest x is greater", ("b", "ba"), ("z", "z"), (b"b", b"bz")),
    ("x may not be so short", ("ba", "baa"), ("z", "z"), (b"ba", b"baz")),
    ("y is empty", ("a", "a\0b"), ("", ""), (b"a", b"a\0b")),
    ("y is empty or not", ("a", "ab"), ("", "c"), (b"a", b"ac")),
    ("both are empty", ("", ""), ("", ""), (b"", b"")),
    ("x has as many bytes as can be", ("b", "b" * 200), ("a", "a"), (b"b", b"b" * 200 + b"a")),
    ("y is not known", ("a", "b"), (None, None), (b"a", None)),
    ("y has no upper edge", ("a", "a"), ("b", None), (b"ab", None)),
    ("y has no lower edge", ("a", "a"), (None, "b"), (b"a", b"ab")),
    ("x has no upper edge", ("a", None), ("b", "b"), (b"a", None)),
    ("x has no lower edge", (None, "b"), ("a", "a"), (None, b"ba")),
]


@pytest.mark.parametrize(("case", "x", "y", "expected"), JOINED, ids=[each[0] for each in JOINED])
def test_edges_of_joined_texts(case: str, x: Any, y: Any, expected: tuple[Any, Any]) -> None:
    joined = _pair(between(STRING, *x), between(STRING, *y))
    assert edges(joined) == tuple([each] for each in expected)
    assert beside_others(x, y) == list(expected)


def beside_others(x: Any, y: Any) -> list[Any]:
    """The same edges where texts of other containers are joined as well."""
    others = (["b", x[0], None], ["c", x[1], "d"]), (["b", y[0], "b"], ["b", y[1], None])
    joined = _pair(between(STRING, *others[0]), between(STRING, *others[1]))
    return [edge[1] for edge in edges(joined)]


@pytest.mark.parametrize("suffix", ["a", "b", "z"])
def test_upper_edge_of_very_long_texts_is_unknown(suffix: str) -> None:
    long = ("b", "b" * 201)
    assert beside_others(long, (suffix, suffix)) == [b"b", None]


def test_upper_edge_of_very_long_texts_alone_is_unknown() -> None:
    joined = _pair(between(STRING, "b", "b" * 201), between(STRING, "z", "z"))
    assert edges(joined) == ([b"b"], [None])


def test_join_of_unknown_texts_has_one_unknown_edge() -> None:
    assert edges(_pair(UNKNOWN, UNKNOWN)) == ([None], [None])


@pytest.mark.parametrize("arguments", [1, 2])
def test_only_texts_are_joined(arguments: int) -> None:
    call = Call("Concat", (Column(("c",), LONG),) * arguments, (), STRING)
    bounds = value(call, Given(between(LONG, 1, 2)))
    assert bounds is not None
    assert bounds.type == STRING
    assert edges(bounds) == (None, None)


FIRST = np.array([True, False])
S, L = (STRING, LONG)
TWO = between(STRING, ["c", "d"], ["e", "f"])
LEFT = between(STRING, ["c", None], ["e", None])

#: Choices, and the edges of what is one of them. (What may not be chosen counts for nothing.)
HULLS: list[tuple[str, list[tuple[Bounds, Any]], tuple[Any, Any]]] = [
    ("of one", [(TWO, YES)], ([b"c", b"d"], [b"e", b"f"])),
    ("of all alike", [(between(S, "x", "x"), YES)], ([b"x"], [b"x"])),
    (
        "of all alike and others",
        [(between(S, "x", "x"), YES), (TWO, YES)],
        ([b"c", b"d"], [b"x", b"x"]),
    ),
    (
        "of others and all alike",
        [(TWO, YES), (between(S, "a", "a"), YES)],
        ([b"a", b"a"], [b"e", b"f"]),
    ),
    (
        "where one is chosen",
        [(TWO, YES), (between(S, "x", "x"), FIRST)],
        ([b"c", b"d"], [b"x", b"f"]),
    ),
    ("of one not known", [(TWO, YES), (LEFT, YES)], ([b"c", None], [b"e", None])),
    ("of nothing known", [(UNKNOWN, YES)], (None, None)),
    ("of one and nothing known", [(TWO, YES), (UNKNOWN, YES)], (None, None)),
    ("of nothing known and one", [(UNKNOWN, YES), (TWO, YES)], (None, None)),
    ("where nothing is known of the first", [(TWO, YES), (UNKNOWN, FIRST)], (None, None)),
    (
        "of one and nothing known that may not be chosen",
        [(TWO, YES), (UNKNOWN, NO)],
        ([b"c", b"d"], [b"e", b"f"]),
    ),
    ("of a lower edge", [(replace(TWO, upper=None), YES)], ([b"c", b"d"], None)),
    ("of an upper edge", [(replace(TWO, lower=None), YES)], (None, [b"e", b"f"])),
    (
        "of edges of other lengths",
        [(replace(TWO, upper=texts("x")), YES)],
        ([b"c", b"d"], [b"x", b"x"]),
    ),
]


@pytest.mark.parametrize(("case", "choices", "expected"), HULLS, ids=[each[0] for each in HULLS])
def test_hull_of_texts_spans_both_arguments(
    case: str, choices: list[tuple[Bounds, Any]], expected: tuple[Any, Any]
) -> None:
    assert edges(hull(STRING, choices)) == expected


c = Column(("c",), LONG)


def above(limit: int) -> Expr:
    return Compare(Comparison.GREATER, c, Literal(limit, LONG))


def chosen(name: str, *arguments: Expr, result: DataType = LONG) -> tuple[Any, Any]:
    """The edges where c is from 3 to 7."""
    return edges(value(Call(name, arguments, (), result), Given(between(LONG, 3, 7))))


def n(number: int) -> Literal:
    return Literal(number, LONG)


#: Conditions and values of a CASE, and its edges where c is from 3 to 7.
BRANCHES: list[tuple[tuple[Expr, ...], tuple[int, int]]] = [
    ((above(5), n(1), above(4), n(2), n(3)), (1, 3)),
    ((above(9), n(1), above(4), n(2), n(3)), (2, 3)),
    ((above(9), n(1), above(2), n(2), n(3)), (2, 2)),
    ((above(5), n(1), above(9), n(2), n(3)), (1, 3)),
    ((above(2), n(1), above(4), n(2), n(3)), (1, 1)),
    ((above(9), n(1), above(8), n(2), above(4), n(5), n(9)), (5, 9)),
    ((above(9), n(1), above(4), n(2)), (2, 2)),
]


@pytest.mark.parametrize(("arguments", "expected"), BRANCHES)
def test_branches_of_a_case_are_tried_in_their_order(
    arguments: tuple[Expr, ...], expected: tuple[int, int]
) -> None:
    assert chosen("CaseWhen", *arguments) == ([expected[0]], [expected[1]])


@pytest.mark.parametrize("count", [0, 1, 2, 4, 5])
def test_if_of_another_number_of_arguments_is_unknown(count: int) -> None:
    condition = Literal(True, BOOLEAN)
    arguments = (condition, n(1), n(2), n(3), n(4))[:count]
    assert chosen("If", condition, n(1), n(2)) == ([1], [1])
    assert chosen("If", *arguments) == (None, None)


@pytest.mark.parametrize("pattern", ["\ufffd_", "\ufffd%", "\ufffda", "\ufffd\ufffd_"])
@pytest.mark.parametrize("subject", ["s", "upper(s)"])
def test_like_matches_bytes_that_are_not_utf8_as_replacement_characters(
    pattern: str, subject: str
) -> None:
    text: Expr = Column(("s",), STRING)
    text = Call("Upper", (text,), (), STRING) if subject == "upper(s)" else text
    for escape, written in (("\\", pattern), ("\ufffd", pattern.replace("\ufffd", "\ufffd\ufffd"))):
        like = Call("Like", (text, Literal(written, STRING)), (("escapeChar", escape),), BOOLEAN)
        truths = truth(like, Given(between(STRING, b"\xff\xffa", b"\xff\xffa")))
        assert truths.can_be_true.all()
