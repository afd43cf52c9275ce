"""Reasons for conjuncts that neither rule out nor fully match some files."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.domain.bounds import Flags
from tamis.expr.nodes import Call, Column, Compare, Comparison, Expr, IsNull, Literal, Not, Or
from tamis.expr.types import DOUBLE, LONG, STRING
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.detail.reason_detail import better_reason
from tamis.reasons import reason
from tests.cases.case import compare, is_in
from tests.plan.test_kinds import Recorded, SingleKind

FILES = 40
c, k, w = (Column((name,), LONG) for name in "ckw")
x, s = Column(("x",), DOUBLE), Column(("s",), STRING)

COARSE = reason("RANGES_OVERLAP", predicate="…", column="…")


def table() -> pa.Table:
    """c is clustered; the others are not. k has up to 101 values in a file, and w may have more.

    The NaN count of x is unknown. s and k have NULLs.
    """
    ten = [10 * n for n in range(FILES)]
    columns: dict[str, list[object]] = {
        "num_records": [10] * FILES,
        **{f"null_count.{name}": [0] * FILES for name in "cwx"},
        **{f"null_count.{name}": [3] * FILES for name in "ks"},
        "min.c": list(ten),
        "max.c": [each + 9 for each in ten],
        "min.k": [0] * FILES,
        "max.k": [100] * FILES,
        "min.w": [-(2**63)] * FILES,
        "max.w": [2**63 - 1] * FILES,
        "min.x": [float(each) for each in ten],
        "max.x": [each + 9.0 for each in ten],
        "min.s": ["a"] * FILES,
        "max.s": ["z"] * FILES,
    }
    return pa.table(columns)


def call(name: str, *arguments: Expr) -> Call:
    return Call(name, arguments, (), STRING)


text = Literal("b", STRING)
CASES: list[tuple[Expr, str, str]] = [
    # Conjunct | code | text that the reason or the fix contains.
    (compare("<", c, 205), "ONLY_AT_THE_EDGE", "in only 1 of the files"),
    (compare("<", k, 50), "RANGES_OVERLAP", "…"),
    (IsNull(k), "RANGES_OVERLAP", "…"),
    (compare("=", w, 50), "VALUE_WITHIN_RANGES", '"w": "bloom"'),
    (is_in(w, *range(128)), "VALUE_WITHIN_RANGES", '"w": "bloom"'),
    (is_in(w, *range(129)), "RANGES_OVERLAP", "…"),  # too many for a Bloom filter
    (Compare(Comparison.EQUAL, s, text), "VALUE_WITHIN_RANGES", '"s": "bloom"'),
    (compare("=", k, 50), "VALUES_NOT_LISTED", '"k": "values"'),
    (compare("<=>", k, 50), "VALUES_NOT_LISTED", '"k": "values"'),
    (is_in(k, *range(0, 100, 2)), "VALUES_NOT_LISTED", '"k": "values"'),
    # A file without a match has only the listed values.
    (Not(is_in(w, 50, 60)), "VALUES_NOT_LISTED", '"w": "values"'),
    (Not(is_in(w, *range(1001))), "RANGES_OVERLAP", "…"),
    (compare("<>", w, 50), "RANGES_OVERLAP", "…"),  # bounds decide it as well as a list
    (compare(">", x, 350.0), "MAY_BE_NAN", '"x": "bounds"'),
    (
        Compare(Comparison.EQUAL, call("Reverse", s), text),
        "BOUNDS_DECIDE_SINGLE_VALUES_ONLY",
        "bounds of s",
    ),
    (call("EndsWith", s, text), "BOUNDS_DECIDE_SINGLE_VALUES_ONLY", "bounds of s"),
    (call("Contains", s, text), "BOUNDS_DECIDE_SINGLE_VALUES_ONLY", "bounds of s"),
    # The branch that keeps more files.
    (Or((compare("=", c, 5), compare("<", k, 50))), "OR_NEEDS_EVERY_BRANCH", "k < 50"),
    (Or((compare("=", k, 50), compare("=", c, 5))), "OR_NEEDS_EVERY_BRANCH", '"k": "values"'),
    # Long disjunctions are not analyzed by branch.
    (Or((compare("=", c, 5), *(compare("<", k, n) for n in range(50)))), "RANGES_OVERLAP", "…"),
    # Neither branch keeps fewer files than the other.
    (Or((compare("<", k, 50), compare(">", k, 70))), "RANGES_OVERLAP", "…"),
]


@pytest.mark.parametrize(("conjunct", "code", "names"), CASES)
def test_reason_names_the_cause(conjunct: Expr, code: str, names: str) -> None:
    segments = [Segment(slice(0, FILES), ArrowStatistics(table()))]
    actual = better_reason(conjunct, COARSE, segments, FILES)
    assert actual is not None
    assert actual.code == code
    assert names in f"{actual.text} {actual.fix}"


RECORDED = [
    # Recorded kind | conjunct | code: none of a kind that is recorded already.
    ("bloom", compare("=", w, 50), "RANGES_OVERLAP"),
    ("bloom", compare("=", k, 50), "RANGES_OVERLAP"),
    ("bloom", is_in(k, *range(0, 100, 2)), "RANGES_OVERLAP"),
    ("bloom", Not(is_in(k, 50, 60)), "VALUES_NOT_LISTED"),
    ("values", compare("=", k, 50), "RANGES_OVERLAP"),
    ("values", Not(is_in(k, 50, 60)), "RANGES_OVERLAP"),
]


@pytest.mark.parametrize(("kind", "conjunct", "code"), RECORDED)
def test_recorded_statistics_are_not_proposed(kind: str, conjunct: Expr, code: str) -> None:
    recorded = Recorded(ArrowStatistics(table()), SingleKind(kind, (False,) * FILES))
    actual = better_reason(conjunct, COARSE, [Segment(slice(0, FILES), recorded)], FILES)
    assert actual is not None
    assert actual.code == code


class Indexed(ArrowStatistics):
    """Statistics of an index, which records whether a file is empty."""

    def empty(self) -> Flags | None:
        return np.zeros(self.num_containers, np.bool_)


def test_files_outside_the_index_are_named() -> None:
    some = np.arange(0, FILES, 2)
    half = Segment(some, Indexed(table().take(pa.array(some))))
    actual = better_reason(compare(">=", c, 0), COARSE, [half], FILES)
    assert actual is not None
    assert (actual.code, "refresh()" in (actual.fix or "")) == ("FILES_WITHOUT_STATISTICS", True)
    # If most of the indexed files are mixed too, the coarse bounds are the reason.
    coarse = better_reason(compare("<", k, 50), COARSE, [half], FILES)
    assert coarse == COARSE


@pytest.mark.parametrize("files", [1, 2, 3, 4, 8])
def test_edge_is_not_named_for_few_files(files: int) -> None:
    segments = [Segment(slice(0, files), ArrowStatistics(table().slice(0, files)))]
    assert better_reason(compare("<", k, 50), COARSE, segments, files) == COARSE


def test_other_reasons_are_unchanged() -> None:
    segments = [Segment(slice(0, FILES), ArrowStatistics(table()))]
    for actual in (None, reason("SIGNED_ZERO", predicate="x")):
        assert better_reason(compare("<", c, 205), actual, segments, FILES) is actual
