"""The files of the first rows of an ORDER BY: examples, and random files compared with their rows."""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tamis.expr.nodes import Column, Compare, Comparison, Expr, IsNull, Literal, Not
from tamis.expr.types import DOUBLE, LONG, STRING
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.goals.file_keys import key_of_files, matching_files
from tamis.plan.goals.sort_keys import Group, SortKey
from tamis.plan.goals.topk import boundary, first_files
from tamis.plan.scan_decision import decide
from tests.differential.generate import Case, random_case, random_predicate
from tests.differential.keys import order_key
from tests.differential.random_calls import random_call
from tests.differential.rows import row_value
from tests.plan.test_aggregate import Files

C = Column(("c",), LONG)
S = Column(("s",), STRING)
X = Column(("x",), DOUBLE)
ROWS = [3, 3, 5, 5, 4]


def table(**columns: list[Any]) -> ArrowStatistics:
    return ArrowStatistics(
        pa.table(
            {name.replace("_of_", "."): values for name, values in columns.items()}
            | {"num_records": ROWS}
        )
    )


CLUSTERED = table(
    min_of_c=[1, 4, 8, 10, None],
    max_of_c=[5, 9, 20, 30, None],
    null_count_of_c=[0, 0, 0, 0, 4],
)
NULLS_UNKNOWN = table(min_of_c=[1, 4, 8, 10, 40], max_of_c=[5, 9, 20, 30, 50])
SOME_NULLS = table(
    min_of_c=[1, 4, 8, 10, 40],
    max_of_c=[5, 9, 20, 30, 50],
    null_count_of_c=[1, 0, 2, 0, None],
)
TIES = table(
    min_of_c=[1, 1, 1, 1, 2],
    max_of_c=[1, 1, 1, 1, 2],
    null_count_of_c=[0, 0, 0, 0, 0],
)
TRUNCATED = table(
    min_of_s=["a", "ab", "b", "c", None],
    max_of_s=["ac", "b", "bz", None, "zz"],
    null_count_of_s=[0, 0, 0, 0, 0],
)
FLOATS = table(
    min_of_x=[-0.0, 0.0, 1.0, 5.0, None],
    max_of_x=[0.0, 0.5, 2.0, 6.0, None],
    null_count_of_x=[0, 0, 0, 0, 0],
    nan_count_of_x=[0, 0, 1, 0, 4],
)
ATTAINED = Files(
    pa.table(
        {
            "min.s": ["a", "b", "c", "d", None],
            "max.s": ["u", "v", "w", "x", None],
            "null_count.s": [0, 0, 0, 0, 4],
            "attained.s": [True, False, True, True, True],
            "num_records": ROWS,
        }
    )
)
ASC, DESC = (False, True), (True, False)
ASC_LAST, DESC_FIRST = (False, False), (True, True)
NOT_NULL = Not(IsNull(C))


def above(value: int) -> Expr:
    return Compare(Comparison.GREATER, C, Literal(value, LONG))


def after(text: str) -> Expr:
    return Compare(Comparison.GREATER, S, Literal(text, STRING))


# Statistics, key, (descending, nulls first), filters, rows wanted, whether another key follows,
# files. None: no boundary is known.
TABLE = [
    (CLUSTERED, C, ASC_LAST, [], 1, True, [0, 1]),
    (CLUSTERED, C, ASC_LAST, [], 3, True, [0, 1]),
    (CLUSTERED, C, ASC_LAST, [], 4, True, [0, 1, 2]),
    (CLUSTERED, C, ASC_LAST, [], 7, True, [0, 1, 2, 3]),
    (CLUSTERED, C, ASC_LAST, [], 16, True, [0, 1, 2, 3]),
    (CLUSTERED, C, ASC_LAST, [], 17, True, [0, 1, 2, 3, 4]),
    (CLUSTERED, C, ASC_LAST, [], 21, True, None),
    (CLUSTERED, C, ASC, [], 4, True, [4]),
    (CLUSTERED, C, ASC, [], 5, True, [0, 1, 4]),
    (CLUSTERED, C, DESC, [], 5, True, [2, 3]),
    (CLUSTERED, C, DESC, [], 6, True, [1, 2, 3]),
    (CLUSTERED, C, DESC_FIRST, [], 4, True, [4]),
    (CLUSTERED, C, DESC_FIRST, [], 9, True, [2, 3, 4]),
    # No NULL passes.
    (CLUSTERED, C, ASC, [NOT_NULL], 3, True, [0, 1]),
    (CLUSTERED, C, ASC, [above(0)], 3, True, [0, 1]),
    (CLUSTERED, C, ASC, [above(3)], 3, True, [0, 1, 2]),
    (CLUSTERED, C, ASC, [above(3)], 14, True, None),
    (CLUSTERED, C, ASC, [Compare(Comparison.EQUAL, S, Literal("a", STRING))], 1, True, None),
    # The NULL count is unknown: none, some or all rows may be NULL.
    (NULLS_UNKNOWN, C, ASC, [], 3, True, [0, 1, 2, 3, 4]),
    (NULLS_UNKNOWN, C, ASC_LAST, [], 3, True, [0, 1, 2, 3, 4]),
    (NULLS_UNKNOWN, C, ASC_LAST, [NOT_NULL], 3, True, None),
    (SOME_NULLS, C, ASC_LAST, [], 2, True, [0, 1]),
    (SOME_NULLS, C, ASC_LAST, [], 3, True, [0, 1, 2]),
    (SOME_NULLS, C, ASC, [], 3, True, [0, 2, 4]),
    (SOME_NULLS, C, ASC, [NOT_NULL], 2, True, [0, 1]),
    (SOME_NULLS, C, ASC, [NOT_NULL], 3, True, [0, 1, 2]),
    (SOME_NULLS, C, ASC, [above(0)], 5, True, [0, 1, 2]),
    # Ties stay if another key decides. Otherwise enough of them do.
    (TIES, C, ASC_LAST, [], 4, True, [0, 1, 2, 3]),
    (TIES, C, ASC_LAST, [], 4, False, [2]),
    (TIES, C, DESC, [], 2, False, [4]),
    (TIES, C, DESC, [], 5, False, [2, 4]),
    # Files overlap, but some row has the bound. Not in the second file, nor in the last, which has
    # NULLs only.
    (ATTAINED, S, ASC_LAST, [], 1, True, [0]),
    (ATTAINED, S, ASC_LAST, [], 2, True, [0, 1, 2]),
    (ATTAINED, S, ASC_LAST, [], 2, False, [0, 1, 2]),
    (ATTAINED, S, ASC_LAST, [], 3, True, [0, 1, 2, 3]),
    (ATTAINED, S, ASC_LAST, [after(" ")], 2, True, [0, 1, 2]),
    (ATTAINED, S, ASC_LAST, [after("a")], 2, True, [0, 1, 2, 3]),
    (ATTAINED, S, ASC_LAST, [after("d")], 1, True, None),
    (ATTAINED, S, ASC, [], 5, True, [0, 4]),
    (ATTAINED, S, ASC, [], 6, True, [0, 1, 2, 4]),
    (ATTAINED, S, DESC, [], 1, True, [3]),
    (ATTAINED, S, DESC, [], 2, True, [2, 3]),
    # Bounds may lie outside of the values.
    (TRUNCATED, S, ASC_LAST, [], 3, True, [0, 1, 4]),
    (TRUNCATED, S, ASC_LAST, [], 6, True, [0, 1, 2, 4]),
    (TRUNCATED, S, DESC, [], 5, True, [3, 4]),
    (TRUNCATED, S, DESC, [], 10, True, [1, 2, 3, 4]),
    # -0.0 = 0.0. NaN is the greatest value.
    (FLOATS, X, ASC_LAST, [], 3, True, [0, 1]),
    (FLOATS, X, ASC_LAST, [], 6, True, [0, 1]),
    (FLOATS, X, ASC_LAST, [], 11, True, [0, 1, 2, 3]),
    (FLOATS, X, DESC, [], 4, True, [2, 4]),
    (FLOATS, X, DESC, [], 5, True, [2, 3, 4]),
]


@pytest.mark.parametrize("line", range(len(TABLE)))
def test_topk_chooses_the_files_of_the_first_rows(line: int) -> None:
    statistics, expr, (descending, first), conjuncts, rows, more, files = TABLE[line]
    key = SortKey(expr, descending, first, only=not more)
    segments = [Segment(slice(0, 5), statistics)]
    chosen = _chosen(
        key, conjuncts, segments, np.array(ROWS), rows, decide(conjuncts, segments, 5).kept
    )
    assert chosen == files


def _chosen(
    key: SortKey,
    conjuncts: list[Expr],
    segments: list[Segment],
    num_records: Any,
    rows: int,
    kept: Any,
) -> list[int] | None:
    keys = key_of_files(key, conjuncts, segments, kept)
    if keys is None:
        return None
    matching = matching_files(key, keys, conjuncts, segments, kept)
    last = boundary(rows, key, keys, matching, num_records)
    if last is None:
        return None
    return list(np.flatnonzero(first_files(key, keys, last, kept)).tolist())


def test_file_without_statistics_is_kept() -> None:
    key = SortKey(C, descending=False, nulls_first=False, only=False)
    segments = [Segment(np.array([0, 1, 2, 4]), CLUSTERED.take(np.array([0, 1, 2, 3])))]
    num_records = np.array([3, 3, 5, -1, 5])
    assert _chosen(key, [], segments, num_records, 3, np.ones(5, np.bool_)) == [0, 1, 3]


def test_unknown_key_gives_no_choice() -> None:
    key = SortKey(Column(("unknown",), LONG), descending=False, nulls_first=False, only=False)
    segments = [Segment(slice(0, 5), CLUSTERED)]
    assert key_of_files(key, [], segments, np.ones(5, np.bool_)) is None


def test_unknown_numbers_of_rows_give_no_choice() -> None:
    key = SortKey(C, descending=False, nulls_first=False, only=False)
    segments = [Segment(slice(0, 5), CLUSTERED)]
    kept = np.ones(5, np.bool_)
    assert _chosen(key, [], segments, None, 1, kept) is None
    assert _chosen(key, [], segments, np.full(5, -1), 1, kept) is None


@pytest.mark.parametrize("column", ["long", "double", "string"])
@pytest.mark.parametrize("descending", [False, True])
def test_boundary_among_many_files(column: str, descending: bool) -> None:
    """Files of one row each: the boundary for n rows is the n-th value."""
    random = Random(7)
    numbers = random.sample(range(100_000), 900)
    values: list[Any] = {
        "long": numbers,
        "double": [each / 8 for each in numbers],
        "string": [f"{each:06d}" for each in numbers],
    }[column]
    cells = {"min.v": values, "max.v": values, "null_count.v": [0] * 900, "num_records": [1] * 900}
    if column == "double":
        cells["nan_count.v"] = [0] * 900
    segments = [Segment(slice(0, 900), ArrowStatistics(pa.table(cells)))]
    key = SortKey(Column(("v",), {"long": LONG, "double": DOUBLE, "string": STRING}[column]),
                  descending, False, False)  # fmt: skip
    kept, ones = np.ones(900, np.bool_), np.ones(900, np.int64)
    for rows in (1, 2, 17, 450, 899, 900):
        in_order = sorted(range(900), key=lambda each: values[each], reverse=descending)
        assert _chosen(key, [], segments, ones, rows, kept) == sorted(in_order[:rows])


def _place(key: SortKey, value: Any) -> Any:
    """Return a key that Python orders as the ORDER BY orders rows. Ties are equal."""
    nan = isinstance(value, float) and math.isnan(value)
    group = Group.NULL if value is None else Group.NAN if nan else Group.VALUE
    ordered = _Reversed if key.descending else _Plain
    return key.groups.index(group), ordered(order_key(value) if group is Group.VALUE else 0)


class _Plain:
    def __init__(self, key: Any) -> None:
        self.key = key

    def __eq__(self, other: Any) -> bool:
        return bool(self.key == other.key)

    def __lt__(self, other: Any) -> bool:
        return bool(self.key < other.key)

    __hash__ = None  # type: ignore[assignment]


class _Reversed(_Plain):
    def __lt__(self, other: Any) -> bool:
        return bool(self.key > other.key)


OUTCOMES: Counter[str] = Counter()


@settings(max_examples=6 * settings.default.max_examples, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_first_rows_are_in_the_chosen_files(random: Random) -> None:
    case = random_case(random, containers=random.choice([3, 8]), perfect=random.random() < 0.4)
    column = random.choice(case.columns)
    expr = (random.random() < 0.4 and random_call(random, column)) or column
    key = SortKey(expr, *random.choice([ASC, DESC, ASC_LAST, DESC_FIRST]), random.random() < 0.5)
    conjuncts = [
        random_predicate(random, case.columns, 1) for _ in range(random.choice([0, 0, 1, 2]))
    ]
    if random.random() < 0.3:
        conjuncts.append(Not(IsNull(column)))
    rows = random.choice([1, 2, 3, 5, 9])
    _check(random, case, key, conjuncts, rows)


def _check(random: Random, case: Case, key: SortKey, conjuncts: list[Expr], rows: int) -> None:
    files = len(case.containers)
    statistics = ArrowStatistics(case.files, case.partition_spec)
    segments = [Segment(slice(0, files), statistics)]
    if random.random() < 0.3:  # two indexes, and a file that is in neither
        indexed = random.sample(range(files), files - 1)
        cut = random.randint(0, len(indexed))
        segments = [
            Segment(np.array(part, np.intp), statistics.take(np.array(part, np.intp)))
            for part in (sorted(indexed[:cut]), sorted(indexed[cut:]))
            if part
        ]
    num_records = np.array([len(each) if random.random() < 0.9 else -1 for each in case.containers])
    kept = decide(conjuncts, segments, files).kept
    chosen = _chosen(key, conjuncts, segments, num_records, rows, kept)
    if chosen is None:
        OUTCOMES["no"] += 1
        return
    OUTCOMES["all" if len(chosen) == kept.sum() else "some"] += 1
    passing = [
        (_place(key, row_value(key.expr, row)), ordinal)
        for ordinal, container in enumerate(case.containers)
        for row in container
        if all(row_value(each, row) is True for each in conjuncts)
    ]
    passing.sort(key=lambda each: each[0])
    inside = [place for place, ordinal in passing if ordinal in chosen]
    assert inside[:rows] == [place for place, _ in passing[:rows]]
    if not key.only and passing:
        last = passing[min(rows, len(passing)) - 1][0]
        assert all(ordinal in chosen for place, ordinal in passing if not last < place)


@settings(max_examples=3 * settings.default.max_examples, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_first_rows_are_in_the_chosen_files_with_exact_bounds(random: Random) -> None:
    """Files that overlap. The bounds of some are values of rows, those of others are not."""
    letters = "bcdefghijklmnopqrstuvw"
    files = [
        [random.choice([None, *letters]) for _ in range(random.randint(1, 6))] for _ in range(8)
    ]
    values = [[v for v in rows if v is not None] for rows in files]
    exact = [random.random() < 0.7 for _ in files]
    low = [min(v, default=None) for v in values]
    high = [max(v, default=None) for v in values]
    nulls = [rows.count(None) if random.random() < 0.8 else None for rows in files]
    statistics = Files(
        pa.table(
            {
                "min.s": [v if e or v is None else "a" for v, e in zip(low, exact, strict=True)],
                "max.s": [v if e or v is None else "x" for v, e in zip(high, exact, strict=True)],
                "null_count.s": pa.array(nulls, pa.int64()),
                "attained.s": exact,
                "num_records": [len(rows) for rows in files],
            }
        )
    )
    key = SortKey(S, *random.choice([ASC, DESC, ASC_LAST, DESC_FIRST]), random.random() < 0.5)
    least = random.choice([None, "a", "e"])
    conjuncts = [] if least is None else [after(least)]
    segments = [Segment(slice(0, 8), statistics)]
    kept = decide(conjuncts, segments, 8).kept
    wanted = random.choice([1, 2, 3, 5, 9])
    chosen = _chosen(key, conjuncts, segments, np.array([*map(len, files)]), wanted, kept)
    if chosen is None:
        return
    passing = sorted(
        (
            (_place(key, value), ordinal)
            for ordinal, rows in enumerate(files)
            for value in rows
            if least is None or (value is not None and value > least)
        ),
        key=lambda each: each[0],
    )
    inside = [place for place, ordinal in passing if ordinal in chosen]
    assert inside[:wanted] == [place for place, _ in passing[:wanted]]
    if not key.only and passing:
        last = passing[min(wanted, len(passing)) - 1][0]
        assert all(ordinal in chosen for place, ordinal in passing if not last < place)


def test_random_cases_skip_files() -> None:
    """Check that the random cases skip files often enough to be meaningful."""
    random = Random(3)
    OUTCOMES.clear()
    for _ in range(200):
        case = random_case(random, containers=8, perfect=True)
        key = SortKey(random.choice(case.columns), *random.choice([ASC, DESC]), False)
        _check(random, case, key, [], 3)
    assert OUTCOMES["some"] > 60
