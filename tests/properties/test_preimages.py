"""Preimages of strings: complete for every string, and nearly exact for plain ASCII text."""

from __future__ import annotations

from itertools import combinations_with_replacement, pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.evaluation import verdicts
from tamis.evaluation.domain.bounds import NO, YES, Bounds
from tamis.evaluation.domain.edge_values import edge_of
from tamis.evaluation.domain.spans import (
    Span,
    Spans,
    complement,
    edges_of,
    may_meet,
    merged,
    without,
)
from tamis.evaluation.functions.strings.case_preimages import case_preimage
from tamis.expr.nodes import Call, Compare, Comparison, Expr, Literal
from tamis.expr.types import INTEGER, STRING
from tamis.files.table import ArrowStatistics
from tests.cases.case import statistics_of
from tests.cases.comparison import s
from tests.differential.rows import row_value

LETTERS = "aAbBiIsSkK \x00z{"
BEYOND = "\u00e9\u0131\u0130\u017f\u212a\u00df\ufb00\u0307\u1e96\U0001f600"
texts = st.text(st.sampled_from(LETTERS + BEYOND), max_size=4)
plain = st.text(st.sampled_from("abAB z"), max_size=3)


def spans() -> st.SearchStrategy[Span]:
    return st.tuples(texts, st.none() | texts).map(
        lambda ends: (ends[0].encode(), None if ends[1] is None else ends[1].encode())
    )


def holds(preimage: Spans, text: bytes) -> bool:
    return any(low <= text and (high is None or text < high) for low, high in preimage)


@given(st.lists(spans(), max_size=4), spans(), texts)
def test_spans_behave_like_sets(several: list[Span], removed: Span, text: str) -> None:
    encoded = text.encode()
    union = merged(several)
    assert holds(union, encoded) == any(holds((span,), encoded) for span in several)
    assert holds(complement(union), encoded) != holds(union, encoded)
    left = holds(union, encoded) and not holds((removed,), encoded)
    assert holds(without(union, removed), encoded) == left
    assert all(high is not None and high < low for (_, high), (low, _) in pairwise(union))


@given(st.lists(spans(), max_size=4), texts, texts, st.booleans())
def test_container_may_match_exactly_if_it_overlaps_a_span(
    several: list[Span], one: str, other: str, is_open: bool
) -> None:
    low, high = sorted((one.encode(), other.encode()))
    union = merged(several)
    edges = [edge_of([each.decode()], STRING) for each in (low, high)]
    x = Bounds(STRING, edges[0], edges[1], NO, NO, YES, upper_open=YES if is_open else None)
    meets = any(
        start < high if is_open else start <= high
        for start, end in union
        if end is None or end > low
    )
    assert may_meet(x, edges_of(union)).tolist() == [meets]


@given(st.booleans(), spans(), texts, st.integers(8, 200))
def test_preimage_contains_every_matching_string(
    to_upper: bool, span: Span, text: str, most: int
) -> None:
    """Compare with Python's mapping, which is that of the root locale."""
    image = text.upper() if to_upper else text.lower()
    if holds((span,), image.encode()):
        assert holds(case_preimage(to_upper, span, most), text.encode())


#: Strings in byte order: all strings between two of them, except longer ones.
UNIVERSE = sorted("".join(each) for size in range(4) for each in product("abAB z", repeat=size))
FUNCTIONS = ("Upper", "Lower", "StringTrim", "StringTrimLeft", "StringTrimRight")


@given(
    st.lists(st.sampled_from(FUNCTIONS), min_size=1, max_size=3),
    st.sampled_from([op for op in Comparison if op is not Comparison.NULL_SAFE_EQUAL]),
    plain,
    plain,
    plain,
)
def test_verdicts_agree_with_all_strings_between_the_edges(
    names: list[str], op: Comparison, constant: str, one: str, other: str
) -> None:
    """Check soundness for all strings between the edges, and for equality also tightness."""
    low, high = sorted((one, other))
    subject: Expr = s
    for name in names:
        subject = Call(name, (subject,), (), STRING)
    predicate = Compare(op, subject, Literal(constant, STRING))
    files = ArrowStatistics(statistics_of(s, [(low, high)]))
    verdict = int(verdicts(predicate, files)[0])
    between = [text for text in UNIVERSE if low <= text <= high]
    truths = [row_value(predicate, {s.path: text}) is True for text in between]
    assert verdict != 0 or not any(truths)
    assert verdict != 2 or all(truths)
    if op is Comparison.EQUAL and len(names) == 1 and names[0] in ("Upper", "Lower"):
        assert (verdict == 0) == (not any(truths))


@given(plain, plain, plain, st.integers(1, 3))
def test_verdicts_of_prefixes_are_sound(constant: str, one: str, other: str, count: int) -> None:
    low, high = sorted((one, other))
    arguments = (Call("Upper", (s,), (), STRING), Literal(1, INTEGER), Literal(count, INTEGER))
    predicate = Compare(
        Comparison.EQUAL, Call("Substring", arguments, (), STRING), Literal(constant, STRING)
    )
    verdict = int(verdicts(predicate, ArrowStatistics(statistics_of(s, [(low, high)])))[0])
    truths = [
        row_value(predicate, {s.path: text}) is True for text in UNIVERSE if low <= text <= high
    ]
    assert verdict != 0 or not any(truths)
    assert verdict != 2 or all(truths)


_SPACED = sorted(
    {
        *("".join(each) for size in range(4) for each in product("aB ", repeat=size)),
        *(
            before + text + after
            for text in ("a", "B", "aB", "Ba", "aa")
            for before in ("", "  ", "     ")
            for after in ("", "  ", "    ")
        ),
    }
)
_ENDS = sorted("".join(each) for size in range(4) for each in product("aB ", repeat=size))[::2]
#: Functions and constants whose preimage is exact.
EXACT: list[tuple[str, tuple[str, ...]]] = [
    ("StringTrim", ("aB",)),
    ("StringTrimLeft", ("a", "aB")),
    ("StringTrimRight", ("aB", "ab", "b")),
    ("Upper", ("a", "aB", "B", "ab", "b", "")),
    ("Lower", ("aB", "B", "A", "b", "")),
]


@pytest.mark.parametrize(("name", "constants"), EXACT)
@pytest.mark.parametrize("op", ["=", "<>", "<", "<=", ">", ">="])
def test_verdicts_are_exact(name: str, constants: tuple[str, ...], op: str) -> None:
    pairs = list(combinations_with_replacement(_ENDS, 2))
    files = ArrowStatistics(statistics_of(s, pairs))
    for constant in constants:
        subject = Call(name, (s,), (), STRING)
        predicate = Compare(Comparison(op), subject, Literal(constant, STRING))
        swapped = Compare(Comparison(op).swapped, Literal(constant, STRING), subject)
        truths = {text: row_value(predicate, {s.path: text}) is True for text in _SPACED}
        for either in (predicate, swapped):
            for (low, high), code in zip(pairs, verdicts(either, files).tolist(), strict=True):
                between = [truths[text] for text in _SPACED if low <= text <= high]
                expected = 0 if not any(between) else 2 if all(between) else 1
                assert code == expected, (name, op, constant, low, high)
