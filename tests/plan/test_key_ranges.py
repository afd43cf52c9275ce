"""The ranges of a join key include every key, and the filtered side loses no partner row."""

from __future__ import annotations

from decimal import Decimal
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis.evaluation.nodes.operators  # noqa: F401  fills the registries
from tamis.evaluation.udf.udf_contract import Contract
from tamis.expr.nodes import Call, Column, Expr, Literal
from tamis.expr.types import BOOLEAN, DATE, DOUBLE, INTEGER, LONG, STRING, DataType, decimal
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.joins.clustering import is_clustered, share_of_files
from tamis.plan.joins.key_ranges import key_ranges
from tamis.plan.ranges.implied_ranges import Interval
from tamis.plan.scan_decision import decide
from tests.cases.case import compare, is_in
from tests.differential.generate import random_case, random_predicate
from tests.differential.rows import row_value
from tests.evaluation.test_declared_calls import declared

c = Column(("c",), LONG)
randoms = st.randoms(use_true_random=False)


def segment(lower: list[object], upper: list[object], **columns: list[object]) -> Segment:
    table = pa.table({"min.c": lower, "max.c": upper} | columns)
    return Segment(slice(0, len(lower)), ArrowStatistics(table))


def ranges(
    files: Segment, key: Expr = c, conjuncts: tuple[Expr, ...] = (), kept: list[bool] | None = None
) -> list[tuple[object, object]] | None:
    count = files.statistics.num_containers
    flags = np.ones(count, np.bool_) if kept is None else np.array(kept)
    intervals = key_ranges(key, conjuncts, [files], flags)
    return None if intervals is None else [(each.lower, each.upper) for each in intervals]


# Lower edges, upper edges, the combined ranges.
COMBINED = [
    ([0, 10, 20], [9, 19, 29], [(0, 29)]),  # adjacent ranges
    ([0, 20], [9, 29], [(0, 9), (20, 29)]),
    ([20, 0, 5], [29, 9, 15], [(0, 15), (20, 29)]),
    ([0, 0], [100, 5], [(0, 100)]),
    ([0, None], [9, 19], None),  # unknown bounds of one file
    ([0, 10], [9, None], None),
    ([-(1 << 63), 1 - (1 << 63)], [-(1 << 63), 5], [(-(1 << 63), 5)]),
    ([(1 << 63) - 1, -(1 << 63)], [(1 << 63) - 1, 0], [(-(1 << 63), 0), ((1 << 63) - 1,) * 2]),
]


@pytest.mark.parametrize(("lower", "upper", "expected"), COMBINED)
def test_ranges_are_combined(
    lower: list[object], upper: list[object], expected: list[tuple[object, object]] | None
) -> None:
    assert ranges(segment(lower, upper)) == expected


def test_only_kept_files_count() -> None:
    files = segment([0, None, 20], [9, 19, 29])
    assert ranges(files, kept=[True, False, True]) == [(0, 9), (20, 29)]
    assert ranges(files, kept=[False, False, False]) == []


def test_files_of_nulls_and_empty_files_have_no_key() -> None:
    files = segment([0, None], [9, None], num_records=[5, 5], **{"null_count.c": [0, 5]})
    assert ranges(files) == [(0, 9)]
    assert ranges(segment([0, None], [9, None], num_records=[5, 0])) == [(0, 9)]


def test_files_without_statistics_allow_any_key() -> None:
    files = segment([0, 20], [9, 29])
    assert key_ranges(c, [], [files], np.ones(3, np.bool_)) is None


def test_filter_on_the_key_restricts_the_ranges() -> None:
    files = segment([0], [1000])
    assert ranges(files, conjuncts=(compare(">", c, 17), compare("<=", c, 30))) == [(18, 30)]
    days = Segment(
        slice(0, 1),
        ArrowStatistics(
            pa.table({"min.d": pa.array([0], pa.date32()), "max.d": pa.array([9999], pa.date32())})
        ),
    )
    day = Column(("d",), DATE)
    year = compare("=", Call("Year", (day,), (), INTEGER), 1971)
    assert ranges(days, day, (year,)) == [(365, 729)]


def test_filter_on_a_column_of_the_key_restricts_the_ranges() -> None:
    files = segment([0, 100], [50, 200])
    number = Column(("c",), INTEGER)
    wide = Call("Cast", (number,), (("evalMode", "LEGACY"),), decimal(20, 2))
    within = (compare(">=", number, 40), compare("<=", number, 120))
    assert ranges(files, wide, within) == [(40, 50), (100, 120)]
    # 9223372036854775807 + 1 raises, but no row of the files has that value.
    one_more = Call("Add", (c, Literal(1, LONG)), (("evalMode", "ANSI"),), LONG)
    wide = Call("Cast", (c,), (("evalMode", "ANSI"),), decimal(22, 2))
    raising = (compare(">=", one_more, 41), compare("<=", one_more, 121))
    assert ranges(files, wide, raising) == [(40, 50), (100, 120)]


def test_at_most_sixteen_ranges_with_the_widest_gaps() -> None:
    starts = [n * 10 for n in range(30)] + [10_000, 20_000]
    intervals = ranges(segment(list(starts), [n + 1 for n in starts]))
    assert intervals is not None
    assert len(intervals) == 16
    assert intervals[-2:] == [(10_000, 10_001), (20_000, 20_001)]
    assert all(any(low <= n <= high for low, high in intervals) for n in starts)


@pytest.mark.parametrize(
    ("data_type", "lower", "upper", "expected"),
    [
        (STRING, ["a", "m"], ["c", "z"], [("a", "c"), ("m", "z")]),
        (
            decimal(10, 2),
            [Decimal("1.50")],
            [Decimal("2.25")],
            [(Decimal("1.50"), Decimal("2.25"))],
        ),
        (decimal(30, 0), [Decimal(10**25)], [Decimal(10**26)], [(10**25, 10**26)]),
        (DOUBLE, [1.0], [2.0], None),
        (BOOLEAN, [False], [True], None),
    ],
)
def test_key_ranges_by_type(
    data_type: DataType, lower: list[object], upper: list[object], expected: object
) -> None:
    assert ranges(segment(lower, upper), Column(("c",), data_type)) == expected


def test_end_that_is_not_valid_text_is_not_a_constant() -> None:
    table = pa.table({"min.c": pa.array([b"a"]), "max.c": pa.array([b"\xff"])})
    files = Segment(slice(0, 1), ArrowStatistics(table))
    assert ranges(files, Column(("c",), STRING)) is None


def test_end_with_too_many_digits_is_not_a_constant() -> None:
    column = Column(("c",), decimal(5, 2))
    fits, wide = Decimal("999.99"), Decimal("1000.00")
    assert ranges(segment([-fits], [fits]), column) == [(-fits, fits)]
    assert ranges(segment([Decimal("0.00")], [wide]), column) is None
    assert ranges(segment([-wide], [Decimal("0.00")]), column) is None


def test_key_can_be_an_expression() -> None:
    key = Call("Cast", (Column(("c",), INTEGER),), (("evalMode", "LEGACY"),), LONG)
    assert ranges(segment([0, 20], [9, 29]), key) == [(0, 9), (20, 29)]


def test_key_that_relies_on_a_declaration_has_no_range() -> None:
    contract = Contract("f", monotone=lambda x: x, types=["BIGINT"])
    call = Call("udf:f", (c,), (), LONG)
    assert ranges(segment([0], [9]), declared(contract, call)) is None


def test_filter_on_one_of_two_columns_of_the_key_is_not_used() -> None:
    files = segment([0], [9], **{"min.d": [100], "max.d": [200]})
    legacy = (("evalMode", "LEGACY"),)
    total = Call("Add", (c, Column(("d",), LONG)), legacy, LONG)
    assert ranges(files, total, (compare(">=", c, 5),)) == [(100, 209)]


def test_filter_that_excludes_null_restricts_a_key_with_a_default() -> None:
    key = Call("Coalesce", (c, Literal(0, LONG)), (), LONG)
    files = segment([10, 100], [50, 200], **{"null_count.c": [1, 0]})
    within = (compare(">=", c, 40), compare("<=", c, 120))
    assert ranges(files, key) == [(0, 50), (100, 200)]
    assert ranges(files, key, within) == [(40, 50), (100, 120)]


def test_filter_that_no_file_passes_leaves_no_range() -> None:
    number = Column(("c",), INTEGER)
    wide = Call("Cast", (number,), (("evalMode", "LEGACY"),), LONG)
    within = (compare(">=", number, 60), compare("<=", number, 80))
    for key in (number, wide):
        assert ranges(segment([0, 100], [50, 200]), key, within) == []


def test_long_list_does_not_restrict_the_ranges() -> None:
    files = segment([0], [9_999])
    assert ranges(files, conjuncts=(is_in(c, *range(500, 1_500)),)) == [(500, 1_499)]
    assert ranges(files, conjuncts=(is_in(c, *range(500, 1_501)),)) == [(0, 9_999)]


@given(randoms)
def test_every_key_of_a_passing_row_lies_in_a_range(random: Random) -> None:
    _check_keys_of_passing_rows(random)


def test_random_cases_have_ranges_and_passing_rows() -> None:
    """Check that the property test compares enough keys to be meaningful."""
    assert sum(_check_keys_of_passing_rows(Random(seed)) for seed in range(100)) > 50


def _check_keys_of_passing_rows(random: Random) -> int:
    """Return the number of keys that were compared with ranges."""
    case = random_case(random, containers=5)
    predicate = random_predicate(random, case.columns)
    statistics = ArrowStatistics(case.files, case.partition_spec)
    segments = [Segment(slice(0, 5), statistics)]
    kept = decide([predicate], segments, 5).kept
    compared = 0
    for key in case.columns:
        intervals = key_ranges(key, [predicate], segments, kept)
        if intervals is None:  # unknown
            continue
        for rows in case.containers:
            for row in rows:
                if row_value(predicate, row) is not True:
                    continue
                value = row_value(key, row)
                if value is None:  # NULL has no partner
                    continue
                assert any(_includes(each, value) for each in intervals), (key, value)
                compared += 1
    return compared


def _includes(interval: Interval, value: object) -> bool:
    return bool(interval.lower <= value <= interval.upper)  # type: ignore[operator]


def test_clustered_ranges() -> None:
    def clustered(lower: list[object], upper: list[object]) -> bool:
        return is_clustered(c, [segment(lower, upper)], np.ones(len(lower), np.bool_))

    assert clustered([0, 10], [9, 19])  # two disjoint files
    assert clustered([n * 10 for n in range(9)], [n * 10 + 12 for n in range(9)])
    assert not clustered([0], [9])  # only one file
    assert not clustered([0, 1, 0, 2], [97, 99, 98, 99])
    assert not clustered([None, None, None, 0], [None, None, None, 9])


def test_sample_of_many_files_is_sufficient() -> None:
    count = 100_000
    starts = np.arange(count) * 10
    table = pa.table({"min.c": starts, "max.c": starts + 9})
    files = [Segment(slice(0, count), ArrowStatistics(table))]
    assert share_of_files(c, files, np.ones(count, np.bool_)) < 0.01
