"""The range of a key holds every key, and a confined side loses no partner."""

from __future__ import annotations

from decimal import Decimal
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis.evaluate.nodes.operators  # noqa: F401  fills the registries
from tamis.expr.nodes import Call, Column, Expr, Literal
from tamis.expr.types import BOOLEAN, DATE, DOUBLE, INTEGER, LONG, STRING, DataType, decimal
from tamis.files.table import ArrowStatistics
from tamis.plan.joins.clustered import is_clustered, share_of_files
from tamis.plan.joins.key_ranges import key_ranges
from tamis.plan.ranges.implied import Interval
from tamis.plan.scan import Segment, decide
from tests.cases.case import compare
from tests.differential.generate import random_case, random_predicate
from tests.differential.rows import row_value

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
    found = key_ranges(key, conjuncts, [files], flags)
    return None if found is None else [(each.lower, each.upper) for each in found]


# lower ends, upper ends, what is known together
TOGETHER = [
    ([0, 10, 20], [9, 19, 29], [(0, 29)]),  # one right after the other
    ([0, 20], [9, 29], [(0, 9), (20, 29)]),
    ([20, 0, 5], [29, 9, 15], [(0, 15), (20, 29)]),
    ([0, 0], [100, 5], [(0, 100)]),
    ([0, None], [9, 19], None),  # of one file nothing is known
    ([0, 10], [9, None], None),
    ([(1 << 63) - 1, -(1 << 63)], [(1 << 63) - 1, 0], [(-(1 << 63), 0), ((1 << 63) - 1,) * 2]),
]


@pytest.mark.parametrize(("lower", "upper", "expected"), TOGETHER)
def test_ranges_of_files(
    lower: list[object], upper: list[object], expected: list[tuple[object, object]] | None
) -> None:
    assert ranges(segment(lower, upper)) == expected


def test_only_files_that_are_kept_count() -> None:
    files = segment([0, None, 20], [9, 19, 29])
    assert ranges(files, kept=[True, False, True]) == [(0, 9), (20, 29)]
    assert ranges(files, kept=[False, False, False]) == []


def test_files_of_nulls_alone_have_no_key_and_empty_ones_none_either() -> None:
    files = segment([0, None], [9, None], num_records=[5, 5], **{"null_count.c": [0, 5]})
    assert ranges(files) == [(0, 9)]
    assert ranges(segment([0, None], [9, None], num_records=[5, 0])) == [(0, 9)]


def test_files_without_statistics_may_hold_any_key() -> None:
    files = segment([0, 20], [9, 29])
    assert key_ranges(c, [], [files], np.ones(3, np.bool_)) is None


def test_what_the_filter_says_of_the_key() -> None:
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


def test_what_the_filter_says_of_a_column_within_the_key() -> None:
    files = segment([0, 100], [50, 200])
    number = Column(("c",), INTEGER)
    wide = Call("Cast", (number,), (("evalMode", "LEGACY"),), decimal(20, 2))
    within = (compare(">=", number, 40), compare("<=", number, 120))
    assert ranges(files, wide, within) == [(40, 50), (100, 120)]
    # 9223372036854775807 + 1 raises, which rows of the files do not
    one_more = Call("Add", (c, Literal(1, LONG)), (("evalMode", "ANSI"),), LONG)
    wide = Call("Cast", (c,), (("evalMode", "ANSI"),), decimal(22, 2))
    raising = (compare(">=", one_more, 41), compare("<=", one_more, 121))
    assert ranges(files, wide, raising) == [(40, 50), (100, 120)]


def test_at_most_sixteen_ranges_with_the_widest_gaps() -> None:
    starts = [n * 10 for n in range(30)] + [10_000, 20_000]
    found = ranges(segment(list(starts), [n + 1 for n in starts]))
    assert found is not None
    assert len(found) == 16
    assert found[-2:] == [(10_000, 10_001), (20_000, 20_001)]
    assert all(any(low <= n <= high for low, high in found) for n in starts)


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
def test_types(
    data_type: DataType, lower: list[object], upper: list[object], expected: object
) -> None:
    assert ranges(segment(lower, upper), Column(("c",), data_type)) == expected


def test_an_end_that_is_no_text_is_no_constant() -> None:
    table = pa.table({"min.c": pa.array([b"a"]), "max.c": pa.array([b"\xff"])})
    files = Segment(slice(0, 1), ArrowStatistics(table))
    assert ranges(files, Column(("c",), STRING)) is None


def test_an_end_of_more_digits_than_the_type_has_is_no_constant() -> None:
    column = Column(("c",), decimal(5, 2))
    fits, wide = Decimal("999.99"), Decimal("1000.00")
    assert ranges(segment([-fits], [fits]), column) == [(-fits, fits)]
    assert ranges(segment([Decimal("0.00")], [wide]), column) is None
    assert ranges(segment([-wide], [Decimal("0.00")]), column) is None


def test_keys_may_be_expressions() -> None:
    key = Call("Cast", (Column(("c",), INTEGER),), (("evalMode", "LEGACY"),), LONG)
    assert ranges(segment([0, 20], [9, 29]), key) == [(0, 9), (20, 29)]


@given(randoms)
def test_every_key_of_a_row_that_passes_lies_in_a_range(random: Random) -> None:
    case = random_case(random, containers=5)
    predicate = random_predicate(random, case.columns)
    statistics = ArrowStatistics(case.files, case.partition_spec)
    segments = [Segment(slice(0, 5), statistics)]
    kept = decide([predicate], segments, 5).kept
    for key in case.columns:
        found = key_ranges(key, [predicate], segments, kept)
        if found is None:
            continue
        for rows in case.containers:
            for row in rows:
                if row_value(predicate, row) is not True:
                    continue
                value = row_value(key, row)
                assert value is None or any(_holds(each, value) for each in found), (key, value)


def _holds(interval: Interval, value: object) -> bool:
    return bool(interval.lower <= value <= interval.upper)  # type: ignore[operator]


def test_what_is_clustered() -> None:
    def clustered(lower: list[object], upper: list[object]) -> bool:
        return is_clustered(c, [segment(lower, upper)], np.ones(len(lower), np.bool_))

    assert clustered([0, 10], [9, 19])  # two files that do not meet
    assert clustered([n * 10 for n in range(9)], [n * 10 + 12 for n in range(9)])
    assert not clustered([0], [9])  # nothing to choose from
    assert not clustered([0, 1, 0, 2], [97, 99, 98, 99])
    assert not clustered([None, None, None, 0], [None, None, None, 9])


def test_a_sample_of_many_files_tells_as_much() -> None:
    count = 100_000
    starts = np.arange(count) * 10
    table = pa.table({"min.c": starts, "max.c": starts + 9})
    files = [Segment(slice(0, count), ArrowStatistics(table))]
    assert share_of_files(c, files, np.ones(count, np.bool_)) < 0.01
