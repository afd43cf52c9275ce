"""Row groups that are read, compared with a reader that assigns them by midpoint as Spark's do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.classification.pushdown import Pushdown
from tamis.expr.nodes import Column, Compare, Comparison, Expr, IsNull, Literal, Opaque
from tamis.expr.types import DOUBLE, LONG
from tamis.files.row_ranges import RowRanges
from tamis.files.segments import GroupedFiles, Segment
from tamis.files.table import ArrowStatistics
from tamis.plan import row_groups
from tamis.plan.known_true import NOTHING, KnownTrue
from tamis.plan.row_groups import LeftOut, RowGroupDecision, decide_row_groups
from tamis.plan.scan_decision import decide, with_known_true
from tests.cases.case import compare, is_in
from tests.differential import generate
from tests.differential.generate import random_case, random_predicate
from tests.differential.rows import Row, row_value

c = Column(("c",), LONG)
SIZE = 1000


def table(bounds: Sequence[tuple[int | None, int | None]], **more: Any) -> ArrowStatistics:
    low, high = ([pair[i] for pair in bounds] for i in (0, 1))
    cells = {"min.c": pa.array(low, pa.int64()), "max.c": pa.array(high, pa.int64())}
    return ArrowStatistics(pa.table(cells | {"null_count.c": [0] * len(bounds)} | more))


class Scan:
    """Files of consecutive row groups, each with 10 rows, 100 bytes, and c in [low, high]."""

    def __init__(self, *files: Sequence[tuple[int, int]]) -> None:
        self.counts = [len(groups) for groups in files]
        bounds = [pair for groups in files for pair in groups]
        self.files = table(
            [(min(g[0] for g in each), max(g[1] for g in each)) for each in files],
            num_records=[10 * n for n in self.counts],
        )
        self.groups = table(bounds, num_records=[10] * len(bounds))
        number = np.concatenate([np.arange(n) for n in self.counts])
        self.start = 4 + 100 * number
        self.stop = self.start + 100
        self.midpoint = self.start + 50
        self.records = np.full(len(bounds), 10)
        self.first = np.cumsum(self.counts) - self.counts
        self.row_counts = [10 * n for n in self.counts]

    def decide(
        self,
        *conjuncts: Expr,
        remembered: Sequence[RowRanges] = (),
        known: KnownTrue = NOTHING,
    ) -> RowGroupDecision:
        count = len(self.counts)
        segments = [Segment(slice(0, count), self.files)]
        before = decide(conjuncts, segments, count)
        before = with_known_true(before, conjuncts, segments, known)
        batch = GroupedFiles(
            np.arange(count),
            np.full(count, SIZE),
            np.array(self.row_counts),
            self.first,
            self.start,
            self.stop,
            self.midpoint,
            self.records,
            self.files,
            self.groups,
        )
        row_group_decision = decide_row_groups(
            conjuncts, before, segments, [batch], remembered=remembered
        )
        return row_group_decision or RowGroupDecision(before, row_groups.ByteRanges.none(), 0, 0)

    def batch(self, ordinal: int) -> GroupedFiles:
        """Return the row groups of one file."""
        first = int(self.first[ordinal])
        here = slice(first, first + self.counts[ordinal])
        return GroupedFiles(
            np.array([ordinal]),
            np.array([SIZE]),
            np.array([self.row_counts[ordinal]]),
            np.array([0]),
            self.start[here],
            self.stop[here],
            self.midpoint[here],
            self.records[here],
            self.files.slice(ordinal, ordinal + 1),
            self.groups.slice(here.start, here.stop),
        )


def ranges(decision: RowGroupDecision) -> list[tuple[int, int, int]]:
    byte_ranges = decision.ranges
    return list(
        zip(
            byte_ranges.files.tolist(),
            byte_ranges.starts.tolist(),
            byte_ranges.lengths.tolist(),
            strict=True,
        )
    )


FOUR = [(0, 9), (10, 19), (20, 29), (30, 39)]


@pytest.mark.parametrize(
    ("conjuncts", "expected"),
    [
        ([compare("=", c, 25)], [(0, 204, 100)]),
        # Adjacent row groups stay separate ranges.
        ([compare(">=", c, 12), compare("<=", c, 27)], [(0, 104, 100), (0, 204, 100)]),
        ([is_in(c, 5, 35)], [(0, 4, 100), (0, 304, 100)]),
        # Every row group: the whole file is read.
        ([compare("<>", c, 5)], []),
        ([compare(">=", c, 5), compare("<", c, 39)], []),
    ],
)
def test_byte_ranges_of_surviving_row_groups(
    conjuncts: list[Expr], expected: list[tuple[int, int, int]]
) -> None:
    decision = Scan(FOUR).decide(*conjuncts)
    assert decision.scan.kept.tolist() == [True]
    assert ranges(decision) == expected
    assert decision.records == 10 * len(expected)
    assert decision.dropped == (4 - len(expected) if expected else 0)


def rows(*ranges: tuple[int, int, int]) -> RowRanges:
    """Return rows of files: ordinal, start and stop."""
    files, starts, stops = np.array(ranges, np.int64).reshape(-1, 3).T
    return RowRanges.of(files, starts, stops)


UNKNOWN = Opaque("f(c)")


@pytest.mark.parametrize(
    ("remembered", "conjunct", "expected", "left_out"),
    [
        ([rows((0, 10, 30))], UNKNOWN, [(0, 4, 100), (0, 304, 100)], [(2, 200)]),
        # a row group of which some rows are not known
        ([rows((0, 11, 30))], UNKNOWN, [(0, 4, 100), (0, 104, 100), (0, 304, 100)], [(1, 100)]),
        ([rows((0, 10, 29))], UNKNOWN, [(0, 4, 100), (0, 204, 100), (0, 304, 100)], [(1, 100)]),
        ([rows((0, 11, 19))], UNKNOWN, [], [(0, 0)]),
        # another file
        ([rows((2, 0, 40))], UNKNOWN, [], [(0, 0)]),
        # one after the other, and each counts what was left
        (
            [rows((0, 0, 20)), rows((0, 10, 30))],
            UNKNOWN,
            [(0, 304, 100)],
            [(2, 200), (1, 100)],
        ),
        # what statistics rule out does not count
        ([rows((0, 0, 20))], compare(">=", c, 15), [(0, 204, 100), (0, 304, 100)], [(1, 100)]),
        ([rows((0, 0, 40))], UNKNOWN, None, [(4, 400)]),
        ([rows((0, 0, 1000))], UNKNOWN, None, [(4, 400)]),
    ],
)
def test_remembered_rows_rule_out_row_groups(
    remembered: list[RowRanges],
    conjunct: Expr,
    expected: list[tuple[int, int, int]] | None,
    left_out: list[tuple[int, int]],
) -> None:
    decision = Scan(FOUR, [(0, 39)]).decide(conjunct, remembered=remembered)
    assert decision.scan.kept.tolist() == [expected is not None, True]
    assert ranges(decision) == (expected or [])
    assert decision.remembered == tuple(LeftOut(*each) for each in left_out)


def test_conjunct_becomes_exact_without_the_remembered_row_groups() -> None:
    decision = Scan(FOUR).decide(compare(">=", c, 5), remembered=[rows((0, 0, 10))])
    assert decision.scan.conjuncts[0].pushdown is Pushdown.EXACT
    assert decision.records == 30


@pytest.mark.parametrize(
    ("failing", "files", "passing", "exact"),
    [
        # the row groups that are left are known to be true
        (rows((0, 10, 30)), [False, True], rows((0, 0, 10), (0, 30, 40)), True),
        (rows((0, 10, 30)), [True, True], rows(), True),
        # another file, which is read whole, is not known
        (rows((0, 10, 30)), [True, False], rows((0, 0, 10), (0, 30, 40)), False),
        # one row is not known
        (rows((0, 10, 30)), [False, True], rows((0, 0, 10), (0, 30, 39)), False),
        (rows((0, 10, 30)), [False, True], rows((0, 1, 10), (0, 30, 40)), False),
        # some of the other rows of a row group pass
        (rows((0, 10, 29)), [False, True], rows((0, 0, 10), (0, 30, 40)), False),
        # only the rows of the other file
        (rows((0, 10, 30)), [False, True], rows((1, 0, 10), (1, 30, 40)), False),
    ],
)
def test_conjunct_is_exact_if_it_is_known_to_be_true_in_what_is_read(
    failing: RowRanges, files: list[bool], passing: RowRanges, exact: bool
) -> None:
    known = KnownTrue({0: np.array(files)}, {0: passing})
    scan = Scan(FOUR, [(0, 39)])
    decision = scan.decide(UNKNOWN, remembered=[failing], known=known)
    assert decision.scan.kept.all()
    (outcome,) = decision.scan.conjuncts
    assert (outcome.pushdown is Pushdown.EXACT, outcome.is_remembered) == (exact, exact)
    # of another conjunct nothing is known
    other = scan.decide(Opaque("g(c)"), UNKNOWN, remembered=[failing], known=known)
    assert other.scan.conjuncts[1].pushdown is not Pushdown.EXACT


def test_statistics_and_earlier_scans_prove_a_conjunct_together() -> None:
    # statistics prove it in all row groups but the first
    scan = Scan(FOUR, [(12, 39)])
    above = compare(">=", c, 5)
    assert scan.decide(above).scan.conjuncts[0].pushdown is Pushdown.INEXACT
    known = KnownTrue({}, {0: rows((0, 0, 10))})
    decision = scan.decide(above, known=known)
    assert decision.scan.kept.all()
    assert decision.scan.conjuncts[0].pushdown is Pushdown.EXACT


def test_known_rows_of_untrusted_row_groups_prove_nothing() -> None:
    scan = Scan(FOUR)
    scan.records = scan.records.copy()
    scan.records[1] = 9
    for files in ({}, {0: np.array([False])}):
        known = KnownTrue(files, {0: rows((0, 0, 40))})
        decision = scan.decide(UNKNOWN, remembered=[rows((0, 0, 10))], known=known)
        assert decision.scan.conjuncts[0].pushdown is not Pushdown.EXACT


def test_remembered_rows_of_untrusted_row_groups_are_not_used() -> None:
    scan = Scan(FOUR)
    scan.records = scan.records.copy()
    scan.records[1] = 9  # the numbers of rows do not add up
    assert ranges(scan.decide(UNKNOWN, remembered=[rows((0, 0, 20))])) == []
    scan.records[2] = 11
    # they add up: the second row group has the rows 10 to 19
    assert ranges(scan.decide(UNKNOWN, remembered=[rows((0, 10, 20))]))[0] == (0, 4, 100)
    assert len(ranges(scan.decide(UNKNOWN, remembered=[rows((0, 10, 19))]))) == 3


def test_range_includes_the_bytes_up_to_the_next_row_group() -> None:
    scan = Scan(FOUR)
    scan.stop = scan.stop - 30  # padding or a Bloom filter
    assert ranges(scan.decide(is_in(c, 12, 25))) == [(0, 104, 100), (0, 204, 70)]


def test_no_ranges_and_joined_ranges() -> None:
    for nothing in (row_groups.ByteRanges.none(), row_groups.ByteRanges.joined([])):
        assert (len(nothing.files), len(nothing.starts), len(nothing.lengths)) == (0, 0, 0)
    parts = [
        row_groups.ByteRanges(np.array([3, 3]), np.array([4, 50]), np.array([10, 20])),
        row_groups.ByteRanges(np.array([1]), np.array([7]), np.array([5])),
    ]
    joined = row_groups.ByteRanges.joined(parts)
    assert joined.files.tolist() == [1, 3, 3]
    assert joined.starts.tolist() == [7, 4, 50]
    assert joined.lengths.tolist() == [5, 10, 20]


def test_file_without_surviving_row_groups_is_dropped() -> None:
    decision = Scan([(0, 3), (7, 9)], [(5, 6), (5, 7)]).decide(is_in(c, 5, 6))
    assert decision.scan.kept.tolist() == [False, True]
    assert ranges(decision) == []
    assert decision.dropped == 2
    assert decision.scan.conjuncts[0].pushdown is Pushdown.INEXACT


def test_ranges_have_the_ordinals_of_their_files() -> None:
    decision = Scan(FOUR, [(40, 49)], FOUR[::-1]).decide(is_in(c, 5, 45))
    assert decision.scan.kept.tolist() == [True, True, True]
    assert ranges(decision) == [(0, 4, 100), (2, 304, 100)]


@pytest.mark.parametrize(
    ("conjuncts", "exact"),
    [
        ([compare(">=", c, 10), compare("<", c, 30)], [True, True]),
        ([compare(">=", c, 10), compare("<", c, 31)], [True, False]),
        ([compare(">=", c, 10), Opaque("f(c)")], [True, False]),
        ([is_in(c, 10, 19)], [False]),  # bounds do not show which values exist
        ([IsNull(c)], [True]),  # no file is kept
    ],
)
def test_conjunct_is_exact_if_every_read_row_group_proves_it(
    conjuncts: list[Expr], exact: list[bool]
) -> None:
    decision = Scan(FOUR).decide(*conjuncts)
    assert [each.pushdown is Pushdown.EXACT for each in decision.scan.conjuncts] == exact


def test_file_read_whole_counts_in_the_proof() -> None:
    assert Scan(FOUR, [(25, 29)]).decide(compare(">=", c, 20)).scan.conjuncts[0].reason is None
    decision = Scan(FOUR, [(19, 29)]).decide(compare(">=", c, 20))
    assert decision.scan.conjuncts[0].pushdown is Pushdown.INEXACT


def test_only_read_row_groups_count_in_the_proof() -> None:
    # The verdict of the file is SOME, that of each of its row groups is ALL.
    decision = Scan([(1, 1), (100, 100)]).decide(is_in(c, 1, 100))
    assert decision.scan.conjuncts[0].pushdown is Pushdown.EXACT
    assert ranges(decision) == []


def _with_second(name: str, value: int) -> Any:
    def spoil(scan: Scan) -> None:
        getattr(scan, name)[1] = value

    return spoil


def _with_group_bounds(low: int, high: int) -> Any:
    def spoil(scan: Scan) -> None:
        scan.groups = table([FOUR[0], (low, high), *FOUR[2:]], num_records=[10] * 4)

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        _with_second("midpoint", -1),
        _with_second("midpoint", 103),
        _with_second("midpoint", 204),
        _with_second("start", 90),
        _with_second("start", -5),
        _with_second("stop", 205),
        _with_second("stop", 104),
        _with_second("stop", 1 << 62),
        _with_second("records", 11),
        _with_second("records", -1),
        lambda scan: scan.stop.__setitem__(3, SIZE + 1),
        lambda scan: scan.start.__setitem__(slice(None), scan.start[::-1].copy()),
        _with_group_bounds(100, 109),  # the file's bounds are 0 to 39
    ],
)
def test_file_with_contradictory_row_groups_is_read_whole(spoil: Any) -> None:
    scan = Scan(FOUR)
    spoil(scan)
    decision = scan.decide(compare(">=", c, 20), compare("<", c, 30))
    assert decision.scan.kept.tolist() == [True]
    assert ranges(decision) == []
    assert [each.pushdown for each in decision.scan.conjuncts] == ["inexact", "inexact"]


def test_contradictory_file_does_not_affect_the_next_file() -> None:
    scan = Scan(FOUR, FOUR)
    scan.midpoint[1] = -1
    assert ranges(scan.decide(compare("=", c, 25))) == [(1, 204, 100)]


def _is_trusted(groups: Sequence[tuple[int, int, int, int]], size: int, rows: int) -> bool:
    """Return whether row groups, as start, midpoint, stop and rows, cover a file in order."""
    end = 0
    for start, midpoint, stop, count in groups:
        if count == 0:
            continue
        if not (0 <= start <= midpoint < stop <= size and start >= end and count > 0):
            return False
        end = stop
    return sum(group[3] for group in groups) == rows


@pytest.mark.parametrize("seed", range(4))
def test_row_groups_are_used_if_and_only_if_they_cover_the_file_in_order(seed: int) -> None:
    """Offsets in tiny files, so that they often touch, overlap or end with the file."""
    random = Random(seed)
    trusted_files = 0
    for _ in range(120):
        sizes = [random.choice([5, 8, 40]) for _ in range(3)]
        files = []
        for size in sizes:
            edges = sorted(random.choices(range(size + 1), k=6))
            files.append(
                [
                    [
                        start,
                        random.randint(start, max(start, stop - 1)),
                        stop,
                        random.choice([0, 1, 2]),
                    ]
                    for start, stop in zip(edges[::2], edges[1::2], strict=True)
                ]
            )
        for _ in range(random.choice([0, 0, 1])):  # a footer that is wrong in one place
            group = random.choice(random.choice(files))
            group[random.randrange(4)] += random.choice([-9, -2, -1, 1, 2, 9])
        rows = [sum(group[3] for group in groups) for groups in files]
        if random.random() < 0.2:
            rows[random.randrange(3)] += random.choice([-1, 1])
        flat = np.array([group for groups in files for group in groups])
        statistics = table([(0, 29)] * 3, num_records=rows)
        batch = GroupedFiles(
            np.arange(3),
            np.array(sizes),
            np.array(rows),
            np.array([0, 3, 6]),
            flat[:, 0],
            flat[:, 2],
            flat[:, 1],
            flat[:, 3],
            statistics,
            table([(0, 9), (10, 19), (20, 29)] * 3, num_records=flat[:, 3]),
        )
        segments = [Segment(slice(0, 3), statistics)]
        conjunct = is_in(c, 5, 15)
        before = decide([conjunct], segments, 3)
        decision = decide_row_groups([conjunct], before, segments, [batch])
        assert decision is not None
        for ordinal, groups in enumerate(files):
            if not before.kept[ordinal]:
                continue
            kept = [group for group in groups[:2] if group[3] != 0]
            is_trusted = _is_trusted([tuple(g) for g in groups], sizes[ordinal], rows[ordinal])  # type: ignore[misc]
            trusted_files += is_trusted
            text = (groups, sizes[ordinal], rows[ordinal])
            assert decision.scan.kept[ordinal] == (bool(kept) or not is_trusted), text
            read = [each[1:] for each in ranges(decision) if each[0] == ordinal]
            if is_trusted and kept and groups[2][3] > 0:
                assert [start for start, _ in read] == [start for start, *_ in kept], text
            else:
                assert read == [], text
    assert trusted_files > 50


def test_row_groups_without_rows_may_have_any_extent() -> None:
    scan = Scan([(0, 9), (0, 0), (20, 29), (30, 39)])
    scan.records[1] = 0
    scan.start[1], scan.stop[1], scan.midpoint[1] = 7, 7, -1
    scan.files = table([(0, 39)], num_records=[30])

    def decide_(*conjuncts: Expr) -> RowGroupDecision:
        segments = [Segment(slice(0, 1), scan.files)]
        batch = GroupedFiles(
            np.array([0]),
            np.array([SIZE]),
            np.array([30]),
            np.array([0]),
            scan.start,
            scan.stop,
            scan.midpoint,
            scan.records,
            scan.files,
            scan.groups,
        )
        decision = decide_row_groups(conjuncts, decide(conjuncts, segments, 1), segments, [batch])
        assert decision is not None
        return decision

    assert ranges(decide_(compare("<", c, 25))) == [(0, 4, 100), (0, 204, 100)]
    assert ranges(decide_(compare("<>", c, 25))) == []


def test_conjunct_that_rules_out_only_row_groups_without_rows_is_unsupported() -> None:
    scan = Scan([(0, 9), (10, 19), (20, 29)])
    scan.records[1] = 0
    scan.row_counts = [20]
    groups = {"null_count.c": [1, 0, 1], "min.c": [0, 10, 20], "max.c": [9, 19, 29]}
    scan.groups = ArrowStatistics(pa.table(groups | {"num_records": [10, 0, 10]}))
    scan.files = ArrowStatistics(pa.table({"min.c": [0], "max.c": [29], "num_records": [20]}))
    decision = scan.decide(IsNull(c))
    assert ranges(decision) == []
    assert [each.pushdown for each in decision.scan.conjuncts] == [Pushdown.UNSUPPORTED]


def test_no_row_groups_give_no_decision() -> None:
    scan = Scan(FOUR)
    conjuncts, segments = [compare("=", c, 25)], [Segment(slice(0, 1), scan.files)]
    before = decide(conjuncts, segments, 1)
    assert decide_row_groups(conjuncts, before, segments, []) is None


def test_row_group_statistics_are_not_read_if_they_cannot_help() -> None:
    def never() -> Any:
        raise AssertionError("statistics of row groups were asked for")
        yield

    segments = [Segment(slice(0, 1), table([(0, 9)]))]
    for conjunct in (compare("<", c, 10), Opaque("f(c)")):
        before = decide([conjunct], segments, 1)
        assert decide_row_groups([conjunct], before, segments, never()) is None


def test_search_stops_if_it_saves_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_groups, "_TRIAL", 8)
    scan = Scan(*[[(0, 9), (0, 9)]] * 20, [(0, 1), (5, 9)])
    segments = [Segment(slice(0, 21), scan.files)]
    conjunct = compare("<", c, 4)
    before = decide([conjunct], segments, 21)
    requested = []

    def batches() -> Any:
        for i in range(21):
            requested.append(i)
            yield scan.batch(i)

    decision = decide_row_groups([conjunct], before, segments, batches())
    assert decision is not None
    assert len(requested) == 4
    assert ranges(decision) == []


def test_search_stops_if_the_answer_gets_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_groups, "_MAX_RANGES", 2)
    scan = Scan([(0, 9), (10, 19)], [(0, 9), (10, 19)], [(0, 9), (10, 19)], [(0, 9), (10, 19)])
    conjunct = compare("<", c, 5)
    segments = [Segment(slice(0, 4), scan.files)]
    batches = [scan.batch(i) for i in range(4)]
    decision = decide_row_groups([conjunct], decide([conjunct], segments, 4), segments, batches)
    assert decision is not None
    assert [each[0] for each in ranges(decision)] == [0, 1, 2]
    assert (decision.dropped, decision.records) == (3, 30)


def test_counts_of_dropped_row_groups_and_of_rows() -> None:
    decision = Scan(FOUR, FOUR).decide(compare("<", c, 15))
    assert (decision.dropped, decision.records) == (4, 40)
    decision = Scan(FOUR).decide(compare("=", c, 60))
    assert (decision.dropped, decision.records) == (0, 0)
    assert ranges(decision) == []


def test_rows_of_row_groups_are_not_counted_where_some_were_deleted() -> None:
    """A later batch must not make the number known again, nor files that are read whole unknown."""
    scan = Scan(FOUR, [(40, 49), (50, 59)], [(60, 69), (70, 79)])

    def decide_(deleted: set[int], *conjuncts: Expr) -> RowGroupDecision:
        segments = [Segment(slice(0, 3), scan.files)]
        batches = [replace(scan.batch(n), has_deletes=n in deleted) for n in range(3)]
        before = decide(conjuncts, segments, 3)
        decision = decide_row_groups(conjuncts, before, segments, batches)
        assert decision is not None
        return decision

    in_all = is_in(c, 5, 45, 65)
    assert decide_(set(), in_all).records == 30
    assert [decide_({n}, in_all).records for n in range(3)] == [None] * 3
    # the first file is left out, and the second one is read whole
    assert decide_({0, 1}, is_in(c, 45, 55, 65)).records == 10
    # what is proven of all rows holds for those that are left
    decided = decide_({0}, compare(">=", c, 10), compare("<", c, 30))
    assert ranges(decided) == [(0, 104, 100), (0, 204, 100)]
    assert {each.pushdown for each in decided.scan.conjuncts} == {Pushdown.EXACT}


def test_comparison_with_zero_is_not_exact_in_row_groups() -> None:
    """Spark's reader may lose rows that equal a zero of the other sign."""
    x = Column(("x",), DOUBLE)
    cells = {"min.x": [1.0, -5.0], "max.x": [2.0, -4.0], "null_count.x": [0, 0]}
    groups = ArrowStatistics(pa.table(cells | {"nan_count.x": [0, 0], "num_records": [10, 10]}))
    cells = {"min.x": [-5.0, -5.0], "max.x": [2.0, -4.0], "null_count.x": [0, 0]}
    files = ArrowStatistics(pa.table(cells | {"nan_count.x": [0, 0], "num_records": [20, 10]}))
    for zero, pushdown in ((0.0, Pushdown.INEXACT), (0.5, Pushdown.EXACT)):
        conjunct = Compare(Comparison.GREATER, x, Literal(zero, DOUBLE))
        segments = [Segment(slice(0, 2), files)]
        before = decide([conjunct], segments, 2)
        assert before.kept.tolist() == [True, False]
        batch = GroupedFiles(
            np.array([0]),
            np.array([SIZE]),
            np.array([20]),
            np.array([0]),
            np.array([4, 104]),
            np.array([104, 204]),
            np.array([54, 154]),
            np.array([10, 10]),
            files.slice(0, 1),
            groups,
        )
        decision = decide_row_groups([conjunct], before, segments, [batch])
        assert decision is not None
        assert decision.scan.conjuncts[0].pushdown is pushdown
        assert ranges(decision) == [(0, 4, 100)]


def test_contradictory_row_group_with_one_row_counts() -> None:
    for rows, read in ((1, []), (0, [(0, 204, 100)])):
        scan = Scan(FOUR)
        scan.records[1] = rows
        scan.groups = table([FOUR[0], (100, 109), *FOUR[2:]], num_records=[10, rows, 10, 10])
        scan.files = table([(0, 39)], num_records=[30 + rows])
        scan.row_counts = [30 + rows]
        assert ranges(scan.decide(compare("=", c, 25))) == read


def test_each_conjunct_that_rules_out_a_row_group_is_inexact() -> None:
    """Both columns have NULLs in every file. Each conjunct rules out another row group."""
    d = Column(("d",), LONG)
    scan = Scan([(0, 9)] * 3)
    nulls = {"null_count.c": [0, 3, 3], "null_count.d": [3, 0, 3]}
    low = {"min.c": [0] * 3, "max.c": [9] * 3, "min.d": [0] * 3, "max.d": [9] * 3}
    scan.groups = ArrowStatistics(pa.table(low | nulls | {"num_records": [10] * 3}))
    scan.files = ArrowStatistics(
        pa.table({"min.c": [0], "max.c": [9], "min.d": [0], "max.d": [9], "num_records": [30]})
    )
    decision = scan.decide(IsNull(c), IsNull(d), Opaque("f(c)"))
    assert ranges(decision) == [(0, 204, 100)]
    pushdowns = [each.pushdown for each in decision.scan.conjuncts]
    assert pushdowns == [Pushdown.INEXACT, Pushdown.INEXACT, Pushdown.UNSUPPORTED]


# --- comparison with a reader ---------------------------------------------------------------------


def _layout(random: Random, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return start, stop and midpoint of row groups, and the size of the file. They may be wrong."""
    edges = sorted(random.sample(range(4, 400), 2 * count))
    start, stop = np.array(edges[::2]), np.array(edges[1::2])
    midpoint = np.array(
        [random.randrange(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    )
    size = edges[-1] + random.choice([0, 1, 50])
    if random.random() < 0.25:
        for array in random.choices([start, stop, midpoint], k=random.randint(1, 2)):
            array[random.randrange(count)] += random.choice([-500, -60, -1, 1, 60, 500])
    return start, stop, midpoint, size


def _is_read(ordinal: int, midpoint: int, decision: RowGroupDecision, random: Random) -> bool:
    """Return whether a task reads the row group. Tasks may split only where ranges touch."""
    if not decision.scan.kept[ordinal]:
        return False
    own_ranges = [(start, start + n) for i, start, n in ranges(decision) if i == ordinal]
    if not own_ranges:
        return True
    assert all(a < b for a, b in own_ranges)
    assert all(first[1] <= second[0] for first, second in pairwise(own_ranges))
    tasks = [own_ranges[0]]
    for start, stop in own_ranges[1:]:
        if tasks[-1][1] == start and random.random() < 0.5:
            tasks[-1] = (tasks[-1][0], stop)
        else:
            tasks.append((start, stop))
    readers = sum(start <= midpoint < stop for start, stop in tasks)
    assert readers <= 1
    return readers == 1


def _without_match(
    random: Random, conjuncts: list[Expr], files: list[tuple[Row, ...]]
) -> RowRanges:
    """Return ranges of rows, none of which satisfies all conjuncts."""
    found = []
    for i, file in enumerate(files):
        matches = [all(row_value(each, row) is True for each in conjuncts) for row in file]
        for start in range(len(file)):
            if random.random() < 0.6:
                stop = start
                while stop < len(file) and not matches[stop]:
                    stop += 1
                found.append((i, start, random.randint(start, stop)))
    return rows(*found)


def _found_true(random: Random, conjunct: Expr, files: Sequence[Sequence[Row]]) -> RowRanges:
    """Return some of the rows for which a conjunct is true."""
    found = []
    for i, file in enumerate(files):
        true = [row_value(conjunct, row) is True for row in file]
        for start in range(len(file)):
            if random.random() < 0.6:
                stop = start
                while stop < len(file) and true[stop]:
                    stop += 1
                found.append((i, start, stop))
    return rows(*found)


@given(st.randoms(use_true_random=False))
def test_matching_rows_are_read_and_exact_conjuncts_hold(random: Random) -> None:
    case = random_case(random, containers=10)
    counts = []
    while sum(counts) < 10:
        counts.append(min(random.randint(1, 4), 10 - sum(counts)))
    first = np.cumsum(counts) - counts
    files: list[tuple[Row, ...]] = [
        tuple(row for group in case.containers[a : a + n] for row in group)
        for a, n in zip(first, counts, strict=True)
    ]
    file_cells = generate._random_statistics(random, case.columns, (), tuple(files), False)
    layouts = [_layout(random, n) for n in counts]
    start, stop, midpoint = (np.concatenate([each[k] for each in layouts]) for k in range(3))
    records = np.array([len(group) for group in case.containers])
    if random.random() < 0.1:
        records[random.randrange(10)] += random.choice([-1, 1])
    file_statistics = ArrowStatistics(file_cells)
    groups = ArrowStatistics(case.files, case.partition_spec)
    segments = [Segment(slice(0, len(counts)), file_statistics)]
    conjuncts = [random_predicate(random, case.columns, 1) for _ in range(random.choice([1, 2, 3]))]
    before = decide(conjuncts, segments, len(counts))
    if random.random() < 0.7:
        known_rows = {i: _found_true(random, each, files) for i, each in enumerate(conjuncts)}
        known_files = {
            i: np.array(
                [
                    random.random() < 0.8 and all(row_value(each, row) is True for row in file)
                    for file in files
                ]
            )
            for i, each in enumerate(conjuncts)
        }
        before = with_known_true(before, conjuncts, segments, KnownTrue(known_files, known_rows))
    opened = [i for i in range(len(counts)) if before.kept[i] and random.random() < 0.9]
    batches = []
    for some in (opened[::2], opened[1::2]):
        if not some:
            continue
        chosen_rows = np.concatenate([np.arange(first[i], first[i] + counts[i]) for i in some])
        chosen = np.array([counts[i] for i in some])
        batches.append(
            GroupedFiles(
                np.array(some),
                np.array([layouts[i][3] for i in some]),
                np.array([len(files[i]) for i in some]),
                np.cumsum(chosen) - chosen,
                start[chosen_rows],
                stop[chosen_rows],
                midpoint[chosen_rows],
                records[chosen_rows],
                file_statistics.take(np.array(some)),
                groups.take(chosen_rows),
            )
        )
    remembered = [_without_match(random, conjuncts, files) for _ in range(random.choice([0, 1, 2]))]
    decision = decide_row_groups(conjuncts, before, segments, batches, remembered=remembered)
    if decision is None:
        return
    assert sum(each.row_groups for each in decision.remembered) <= sum(counts)
    exact = [
        conjunct
        for conjunct, outcome in zip(conjuncts, decision.scan.conjuncts, strict=True)
        if outcome.pushdown is Pushdown.EXACT
    ]
    for i, (a, n) in enumerate(zip(first, counts, strict=True)):
        for k in range(a, a + n):
            is_read = _is_read(i, int(midpoint[k]), decision, random)
            for row in case.containers[k]:
                if all(row_value(each, row) is True for each in conjuncts):
                    assert is_read, (conjuncts, row)
                if is_read:
                    assert all(row_value(each, row) is True for each in exact), (exact, row)


def test_conjunct_that_prunes_only_row_groups_is_inexact() -> None:
    """Every file has a NULL, but not every row group: IS NULL prunes no file."""
    scan = Scan([(0, 9), (10, 19)], [(0, 9), (10, 19)])
    nulls = [0, 3, 1, 0]
    scan.groups = table(
        [(0, 9), (10, 19)] * 2,
        num_records=[10] * 4,
        **{"null_count.c": pa.array(nulls, pa.int64())},
    )
    scan.files = ArrowStatistics(
        pa.table({"min.c": [0, 0], "max.c": [19, 19], "num_records": [20, 20]})
    )
    decision = scan.decide(IsNull(c), Opaque("f(c)"))
    assert ranges(decision) == [(0, 104, 100), (1, 4, 100)]
    outcomes = decision.scan.conjuncts
    assert [each.pushdown for each in outcomes] == [Pushdown.INEXACT, Pushdown.UNSUPPORTED]
    assert outcomes[0].reason is not None
    assert outcomes[0].reason.code == "RANGES_OVERLAP"
