"""Conjuncts that statistics may prove to be true for every row of a file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.udf.udf_contract import Contract
from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    Literal,
    Not,
    Opaque,
    Or,
)
from tamis.expr.types import DOUBLE, LONG
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.goals.fully_matching import can_match_fully, fully_matching
from tamis.plan.known_true import KnownTrue
from tests.evaluation.test_declared_calls import declared

c, d = Column(("c",), LONG), Column(("d",), DOUBLE)
ZERO = Compare(Comparison.EQUAL, d, Literal(0.0, DOUBLE))
ABOVE = Compare(Comparison.GREATER, c, Literal(5, LONG))
UNKNOWN = Opaque("f(c)")


@pytest.mark.parametrize("conjunct", [ABOVE, Not(ABOVE), And((ABOVE, ABOVE)), In(d, (1.5,), False)])
def test_plain_conjuncts_can_match_fully(conjunct: Expr) -> None:
    assert can_match_fully(conjunct)


@pytest.mark.parametrize(
    "conjunct", [ZERO, Not(ZERO), Or((ABOVE, ZERO)), In(d, (-0.0, 1.5), False)]
)
def test_conjuncts_with_a_floating_zero_cannot_match_fully(conjunct: Expr) -> None:
    """Spark's Parquet reader distinguishes -0.0 from 0.0."""
    assert not can_match_fully(conjunct)


def test_file_matches_fully_if_every_conjunct_is_true_for_all_rows() -> None:
    cells = {
        "min.c": [6, 6, 5, 6, 6, 6],
        "max.c": [9, 9, 9, 9, 9, 9],
        "null_count.c": [0, 1, 0, 0, None, 0],
        "min.d": [1.0] * 6,
        "max.d": [2.0] * 6,
        "null_count.d": [0] * 6,
        "nan_count.d": [0, 0, 0, 1, 0, 0],
    }
    segments = [Segment(np.array([0, 1, 2, 3, 4, 6]), ArrowStatistics(pa.table(cells)))]
    kept = np.array([True] * 6 + [False])
    below = Compare(Comparison.LESS, d, Literal(5.0, DOUBLE))

    def matching(*conjuncts: Expr) -> list[int]:
        return list(np.flatnonzero(fully_matching(conjuncts, segments, kept)).tolist())

    assert matching() == [0, 1, 2, 3, 4]  # 5 has no statistics, 6 is not kept
    assert matching(ABOVE) == [0, 3]
    assert matching(ABOVE, below) == [0]
    assert matching(And((ABOVE, below))) == [0]


@pytest.mark.parametrize(
    ("conjuncts", "known", "expected"),
    [
        # statistics prove ABOVE for file 1
        ([ABOVE, UNKNOWN], {}, []),
        ([ABOVE, UNKNOWN], {1: [True, True, True, True]}, [1]),
        ([ABOVE, UNKNOWN], {0: [True, False, False, False], 1: [True, False, True, True]}, [0]),
        ([ABOVE, UNKNOWN], {0: [True, True, True, True]}, []),
        ([UNKNOWN], {0: [False, True, True, True]}, [1, 2]),
        # Spark's reader may lose rows that pass
        ([ZERO], {0: [True, True, True, True]}, []),
    ],
)
def test_file_matches_fully_if_an_earlier_scan_found_that(
    conjuncts: list[Expr], known: dict[int, list[bool]], expected: list[int]
) -> None:
    cells = {"min.c": [5, 6, 5], "max.c": [9, 9, 9], "null_count.c": [0, 0, 0]}
    segments = [Segment(slice(0, 3), ArrowStatistics(pa.table(cells)))]
    found = KnownTrue({place: np.array(flags) for place, flags in known.items()})
    matching = fully_matching(conjuncts, segments, np.ones(4, np.bool_), found)
    assert np.flatnonzero(matching).tolist() == expected


def test_no_file_matches_fully_if_rows_may_be_lost_or_a_declaration_may_be_wrong() -> None:
    contract = Contract("f", monotone=lambda x: x, types=["BIGINT"])
    call = Call("udf:f", (c,), (), LONG)
    above = Compare(Comparison.GREATER, call, Literal(0, LONG))
    cells = {"min.c": [6], "max.c": [9], "min.d": [1.0], "max.d": [2.0]}
    no_nulls = {"null_count.c": [0], "null_count.d": [0], "nan_count.d": [0]}
    segments = [Segment(slice(0, 1), ArrowStatistics(pa.table(cells | no_nulls)))]
    kept = np.ones(1, np.bool_)
    for conjunct, matches in (
        (ABOVE, True),
        (Not(ZERO), False),
        (declared(contract, above), False),
    ):
        assert fully_matching([conjunct], segments, kept).tolist() == [matches]
        assert fully_matching([ABOVE, conjunct], segments, kept).tolist() == [matches]
