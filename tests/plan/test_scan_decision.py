"""Decisions over segments, compared with the verdict of each file."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.classification.pushdown import Pushdown
from tamis.evaluation import verdicts
from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    Literal,
    Opaque,
    Or,
)
from tamis.expr.types import BOOLEAN, DATE, DOUBLE, INTEGER, LONG
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan import scan_decision
from tamis.plan.known_true import KnownTrue
from tamis.plan.ranges.implied_ranges import implied_ranges
from tamis.plan.reader_losses import loss_of
from tamis.plan.scan_decision import decide, with_known_true
from tests.cases.case import FALSE, TRUE, compare, is_in
from tests.differential.generate import random_case, random_predicate

c = Column(("c",), LONG)
d = Column(("d",), DOUBLE)
NONE, SOME, ALL = range(3)


def statistics(lower: list[int], upper: list[int]) -> ArrowStatistics:
    zeros = [0] * len(lower)
    return ArrowStatistics(pa.table({"min.c": lower, "max.c": upper, "null_count.c": zeros}))


FILES = statistics([0, 10, 20, 30], [9, 19, 29, 39])


def decided(*conjuncts: Expr, detail: bool = False) -> scan_decision.ScanDecision:
    return decide(conjuncts, [Segment(slice(0, 4), FILES)], files=4, detail=detail)


def test_query_without_conjuncts_keeps_every_file() -> None:
    assert decided().kept.tolist() == [True] * 4


def test_conjunct_true_for_all_kept_files_is_exact() -> None:
    decision = decided(compare("<", c, 20))
    assert decision.kept.tolist() == [True, True, False, False]
    assert decision.conjuncts[0].pushdown is Pushdown.EXACT
    assert decision.conjuncts[0].reason is None


ABOVE, UNKNOWN = compare(">=", c, 15), Opaque("f(c)")
ZERO = compare("=", d, 0.0)


@pytest.mark.parametrize(
    ("conjuncts", "known", "exact"),
    [
        # the files 1, 2 and 3 are kept; statistics prove ABOVE in 2 and 3
        ([ABOVE, UNKNOWN], {}, []),
        ([ABOVE, UNKNOWN], {0: [False, True, False, False]}, [0]),
        ([ABOVE, UNKNOWN], {0: [True, False, True, True]}, []),
        ([ABOVE, UNKNOWN], {1: [False, True, True, True]}, [1]),
        ([ABOVE, UNKNOWN], {1: [True, True, True, False]}, []),
        ([ABOVE, UNKNOWN], {0: [False, True, False, False], 1: [False, True, True, True]}, [0, 1]),
        # Spark's reader may lose rows that pass
        ([ABOVE, ZERO], {1: [True, True, True, True]}, []),
    ],
)
@pytest.mark.parametrize("has_statistics", [True, False])
def test_conjunct_that_an_earlier_scan_found_true_is_exact(
    conjuncts: list[Expr], known: dict[int, list[bool]], exact: list[int], has_statistics: bool
) -> None:
    segments = [Segment(slice(0, 4), FILES)]
    before = decide(conjuncts, segments, files=4)
    assert before.kept.tolist() == [False, True, True, True]
    if not has_statistics:
        segments = []
        exact = [each for each in exact if each == 1]  # nothing proves ABOVE in 2 and 3
    found = KnownTrue({place: np.array(flags) for place, flags in known.items()})
    after = with_known_true(before, conjuncts, segments, found)
    assert [i for i, each in enumerate(after.conjuncts) if each.pushdown == "exact"] == exact
    assert [i for i, each in enumerate(after.conjuncts) if each.is_remembered] == exact
    assert after.kept.tolist() == before.kept.tolist()


def test_exactness_depends_on_the_other_conjuncts() -> None:
    # 5 lies within the first file, which the other conjunct rules out.
    decision = decided(compare(">", c, 5), compare(">=", c, 20))
    assert [each.pushdown for each in decision.conjuncts] == ["exact", "exact"]


def test_boundary_file_makes_a_conjunct_inexact() -> None:
    decision = decided(compare("<", c, 15), compare("<", c, 30))
    assert decision.kept.tolist() == [True, True, False, False]
    assert [each.pushdown for each in decision.conjuncts] == ["inexact", "exact"]
    reason = decision.conjuncts[0].reason
    assert reason is not None
    assert reason.code == "RANGES_OVERLAP"


@pytest.mark.parametrize(
    "predicate", [compare(">=", d, 0.0), compare(">=", d, -0.0), is_in(d, 0.0)]
)
def test_filter_with_a_floating_zero_stays_in_the_residual(predicate: Expr) -> None:
    # Parquet orders -0.0 before 0.0, so its reader loses rows that Spark without the filter
    # returns.
    cells = {"min.d": [0.0, -1.0], "max.d": [0.0, -1.0], "null_count.d": [0, 0]}
    files = ArrowStatistics(pa.table(cells | {"nan_count.d": [0, 0]}))
    decision = decide([predicate], [Segment(slice(0, 2), files)], files=2)
    assert decision.kept.tolist() == [True, False]
    (outcome,) = decision.conjuncts
    assert outcome.pushdown is Pushdown.INEXACT
    assert outcome.reason is not None
    assert outcome.reason.code == "SIGNED_ZERO"


def test_unsupported_conjunct_prunes_nothing_and_has_a_reason() -> None:
    decision = decided(Opaque("f(c)"), compare("<", c, 5))
    assert decision.kept.tolist() == [True, False, False, False]
    assert decision.conjuncts[0].pushdown is Pushdown.UNSUPPORTED
    assert decision.conjuncts[0].reason is not None


def test_every_conjunct_is_exact_if_no_file_is_kept() -> None:
    decision = decided(compare(">", c, 100), Opaque("f(c)"))
    assert not decision.kept.any()
    assert [each.pushdown for each in decision.conjuncts] == ["exact", "exact"]


def test_conjuncts_of_one_column_are_combined() -> None:
    # Each alone is true for some row of the last two files, both together for none.
    wide = statistics([0, 10, 0], [9, 19, 39])
    conjuncts = [compare("<", c, 13), compare(">", c, 14)]
    decision = decide(conjuncts, [Segment(slice(0, 3), wide)], files=3, detail=True)
    assert not decision.kept.any()
    # The outcome of each conjunct refers to the conjunct as written.
    assert [each.pushdown for each in decision.conjuncts] == ["exact", "exact"]
    assert [each.pruned_files for each in decision.conjuncts] == [0, 1]


def test_equalities_with_every_value_of_the_kept_files_are_exact() -> None:
    decision = decided(Or(tuple(compare("=", c, value) for value in range(10))))
    assert decision.kept.tolist() == [True, False, False, False]
    assert decision.conjuncts[0].pushdown is Pushdown.EXACT


def test_combined_ranges_preserve_the_outcome_of_each_conjunct() -> None:
    decision = decided(compare(">=", c, 10), compare("<", c, 35), compare("<>", c, 3), detail=True)
    assert decision.kept.tolist() == [False, True, True, True]
    assert [each.pushdown for each in decision.conjuncts] == ["exact", "inexact", "exact"]
    assert [each.pruned_files for each in decision.conjuncts] == [1, 0, 0]


def test_files_without_statistics_are_kept_and_make_conjuncts_inexact() -> None:
    decision = decide([compare("<", c, 20), FALSE], [Segment(slice(0, 4), FILES)], files=5)
    assert decision.kept.tolist() == [False, False, False, False, True]
    assert [each.pushdown for each in decision.conjuncts] == ["inexact", "inexact"]


def test_scan_without_segments_keeps_every_file() -> None:
    decision = decide([compare("<", c, 20), TRUE], [], files=2)
    assert decision.kept.tolist() == [True, True]
    assert decision.conjuncts[0].pushdown is Pushdown.UNSUPPORTED
    assert decide([compare("<", c, 20)], [], files=0).conjuncts[0].pushdown is Pushdown.EXACT


def test_segments_place_files_by_ordinal() -> None:
    segments = [
        Segment(np.array([3, 0]), statistics([0, 10], [9, 19])),
        Segment(np.array([1, 2]), statistics([0, 10], [9, 19])),
    ]
    decision = decide([compare("<", c, 5)], segments, files=4)
    assert decision.kept.tolist() == [False, True, False, True]


def test_detail_counts_what_each_conjunct_prunes_alone() -> None:
    decision = decided(compare("<", c, 15), is_in(c, 5, 35), Opaque("f(c)"), detail=True)
    assert [each.pruned_files for each in decision.conjuncts] == [2, 2, 0]
    assert decided(compare("<", c, 15)).conjuncts[0].pruned_files is None


@pytest.mark.parametrize("block", [1, 2, 3, scan_decision.BLOCK])
@given(random=st.randoms(use_true_random=False))
def test_decision_agrees_with_the_verdicts(block: int, random: Random) -> None:
    case = random_case(random, containers=7)
    tables = ArrowStatistics(case.files, case.partition_spec)
    conjuncts = [random_predicate(random, case.columns, 1) for _ in range(random.choice([1, 2, 4]))]
    before, scan_decision.BLOCK = scan_decision.BLOCK, block
    try:
        decision = decide(conjuncts, [Segment(slice(0, 7), tables)], 7, detail=True)
    finally:
        scan_decision.BLOCK = before
    codes = np.array([verdicts(each, tables) for each in conjuncts])
    kept = verdicts(And(tuple(conjuncts)), tables) != NONE
    assert not (kept & (codes == NONE).any(axis=0)).any()
    np.testing.assert_array_equal(decision.kept, kept)
    for conjunct, outcome, code in zip(conjuncts, decision.conjuncts, codes, strict=True):
        is_full = bool((code[kept] == ALL).all()) and not (kept.any() and loss_of(conjunct))
        assert (outcome.pushdown is Pushdown.EXACT) == is_full
        assert outcome.pruned_files == int((code == NONE).sum())
        assert (outcome.reason is None) == (outcome.pushdown is Pushdown.EXACT)


def test_implied_ranges_of_all_conjuncts_prune() -> None:
    # Days since 1970: 9131 is 1995-01-01 and 9490 is 1995-12-26. The second file may have days of
    # 1995 and days of a March in another year, but no day of March 1995. It has days of 15 years,
    # which are too many for an evaluation of each day.
    day = Column(("d",), DATE)
    conjuncts = [
        Compare(Comparison.EQUAL, Call(name, (day,), (), INTEGER), Literal(number, INTEGER))
        for name, number in (("Year", 1995), ("Month", 3))
    ]
    edges = {
        "min.d": pa.array([9180, 9490, 9000], pa.int32()).cast(pa.date32()),
        "max.d": pa.array([9215, 14969, 9010], pa.int32()).cast(pa.date32()),
        "null_count.d": [0, 0, 0],
    }
    segments = [Segment(slice(0, 3), ArrowStatistics(pa.table(edges)))]
    alone = decide(conjuncts, segments, files=3)
    assert alone.kept.tolist() == [True, True, False]
    consequences = [each.predicate for each in implied_ranges(conjuncts)]
    together = decide(conjuncts, segments, files=3, consequences=consequences)
    assert together.kept.tolist() == [True, False, False]
    assert [each.pushdown for each in together.conjuncts] == ["exact", "inexact"]


def test_large_disjunctions_prune_and_stay_inexact() -> None:
    """The planner does not check whether they match every row, unless no file is kept."""
    pairs = [And((compare(">=", c, 5 * k), compare("<", c, 5 * k + 5))) for k in range(-900, 2)]
    decision = decided(Or(tuple(pairs)))
    assert decision.kept.tolist() == [True, False, False, False]
    assert decision.conjuncts[0].pushdown is Pushdown.INEXACT
    below = decided(Or(tuple(pairs[:800])))
    assert not below.kept.any()
    assert below.conjuncts[0].pushdown is Pushdown.EXACT


def test_false_keeps_files_without_statistics() -> None:
    """No row satisfies FALSE, but the third file is unknown. A refresh is the fix."""
    never = Literal(False, BOOLEAN)
    some = decide([never], [Segment(slice(0, 2), statistics([0, 10], [9, 19]))], files=3)
    assert some.kept.tolist() == [False, False, True]
    (outcome,) = some.conjuncts
    assert outcome.pushdown is Pushdown.INEXACT
    assert outcome.reason is not None
    assert outcome.reason.code == "FILES_WITHOUT_STATISTICS"
    all_files = Segment(slice(0, 3), statistics([0, 10, 20], [9, 19, 29]))
    refreshed = decide([never], [all_files], files=3)
    assert not refreshed.kept.any()
    assert refreshed.conjuncts[0].pushdown is Pushdown.EXACT


@pytest.mark.parametrize("conjunct", [compare("=", c, 1), Opaque("f(c)")])
def test_file_without_rows_is_not_kept(conjunct: Expr) -> None:
    cells = {"min.c": [None, 1, 1], "max.c": [None, 1, 1], "num_records": [0, 5, None]}
    segments = [Segment(slice(0, 3), ArrowStatistics(pa.table(cells)))]
    assert decide([conjunct], segments, 3).kept.tolist() == [False, True, True]


@pytest.mark.parametrize("start", [0, 1, 5])
def test_segment_can_start_anywhere(start: int) -> None:
    segments = [Segment(slice(start, start + 4), FILES)]
    kept = np.ones(start + 5, np.bool_)
    places = [
        (ordinals.tolist(), chosen.num_containers)
        for ordinals, chosen in scan_decision.kept_blocks(segments, kept)
    ]
    assert places == [([start, start + 1, start + 2, start + 3], 4)]
    decision = decide([compare("<", c, 10)], segments, start + 5)
    assert decision.kept.tolist() == [True] * start + [True, False, False, False, True]


def test_conjunct_is_proven_only_if_every_kept_file_has_statistics() -> None:
    conjunct = [compare("<", c, 100)]
    whole, part = Segment(slice(0, 4), FILES), Segment(slice(1, 3), FILES.slice(1, 3))
    rest = Segment(np.array([0, 3]), FILES.take(np.array([0, 3])))
    kept = np.ones(4, np.bool_)
    assert scan_decision.proven(conjunct, [whole], kept) == {0}
    assert scan_decision.proven(conjunct, [part], kept) == frozenset()
    assert scan_decision.proven(conjunct, [part, rest], kept) == {0}
    assert scan_decision.proven(conjunct, [part], np.array([False, True, True, False])) == {0}
    assert scan_decision.proven(conjunct, [], kept) == frozenset()
    assert scan_decision.proven(conjunct, [], np.zeros(4, np.bool_)) == {0}
