"""Recorded aggregates of groups, plus the files left to read, equal the aggregates of all rows."""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.evaluation.domain.registers import merged, sketch_kind
from tamis.evaluation.statistics import Grouped, GroupRows, Subject
from tamis.expr.nodes import And, Column, Compare, Comparison, Expr, In, IsNull, Literal, Opaque, Or
from tamis.expr.types import DOUBLE, LONG, STRING, DataType, decimal
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.goals.aggregate import Answered, MayOverflowError, answer
from tamis.plan.goals.aggregate_filters import decide
from tamis.plan.goals.aggregate_functions import Aggregate, Function
from tamis.plan.goals.fully_matching import fully_matching

ID, FLAG, SIZE = Column(("id",), LONG), Column(("flag",), STRING), Column(("size",), LONG)
MONEY = decimal(38, 2)
X = Column(("x",), MONEY)

Row = dict[str, Any]
BY = (FLAG, SIZE)
SKETCH = sketch_kind(0.05, "4.1.3")
#: More than the sum of as many values of the type as the tests have.
LIMIT = 10**60


@dataclass(frozen=True, eq=False)
class Groups:
    """The aggregates of x by flag and size, computed from rows."""

    files: Sequence[Sequence[Row] | None]  # None: not recorded
    columns: tuple[Column, ...] = BY

    @property
    def by(self) -> tuple[DataType, ...]:
        return tuple(column.type for column in self.columns)

    def place_of(self, column: Column) -> int | None:
        return self.columns.index(column) if column in self.columns else None

    def rows(self, kind: str, argument: Subject | None) -> GroupRows | None:
        if argument not in (None, X) or kind not in ("count", "sum", "min", "max", SKETCH):
            return None
        listed = []
        sizes = []
        for rows in self.files:
            groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
            for row in rows or ():
                groups[tuple(row[c.path[0]] for c in self.columns)].append(row)
            sizes.append(-1 if rows is None else len(groups))
            listed += sorted(groups.items(), key=lambda item: str(item[0]))
        table: dict[str, Any] = {
            f"by.{i}": pa.array(
                [
                    key[i] if c.type == LONG or key[i] is None else key[i].encode()
                    for key, _ in listed
                ],
                pa.int64() if c.type == LONG else pa.binary(),
            )
            for i, c in enumerate(self.columns)
        }
        table["rows"] = pa.array([len(rows) for _, rows in listed], pa.int64())
        values = [[row["x"] for row in rows if row["x"] is not None] for _, rows in listed]
        wide = pa.decimal128(38, 2)
        if argument is not None:
            table["count"] = pa.array([len(each) for each in values], pa.int64())
        if kind == "sum":
            table["positive"] = pa.array([sum(v for v in e if v > 0) for e in values], wide)
            table["negative"] = pa.array([sum(v for v in e if v < 0) for e in values], wide)
        elif kind in ("min", "max"):
            pick = min if kind == "min" else max
            table["value"] = pa.array([pick(each, default=None) for each in values], wide)
        elif kind == SKETCH:
            table["registers"] = pa.array([registers_of(each) for each in values], pa.binary())
        return GroupRows(MONEY, np.array(sizes, np.int64), pa.table(table))

    def take(self, ordinals: npt.NDArray[np.intp]) -> Groups:
        return replace(self, files=[self.files[i] for i in ordinals])


class Files(ArrowStatistics):
    """Bounds of the columns, and aggregates of groups."""

    def __init__(self, table: pa.Table, groups: tuple[Groups, ...]) -> None:
        super().__init__(table)
        self.groups = groups

    def grouped(self) -> tuple[Grouped, ...]:
        return self.groups


def bounds_of(files: Sequence[Sequence[Row]]) -> pa.Table:
    columns: dict[str, Any] = {"num_records": pa.array([len(f) for f in files], pa.int64())}
    for name, kind in (("id", pa.int64()), ("flag", pa.binary()), ("size", pa.int64())):
        values = [[row[name] for row in rows if row[name] is not None] for rows in files]
        if name == "flag":
            values = [[v.encode() for v in each] for each in values]
        columns[f"min.{name}"] = pa.array([min(v, default=None) for v in values], kind)
        columns[f"max.{name}"] = pa.array([max(v, default=None) for v in values], kind)
        nulls = [len(rows) - len(v) for rows, v in zip(files, values, strict=True)]
        columns[f"null_count.{name}"] = pa.array(nulls, pa.int64())
    return pa.table(columns)


def passes(expr: Expr, row: Row) -> bool | None:
    """Evaluate a filter on a row, in three-valued logic."""
    match expr:
        case And(parts=parts) | Or(parts=parts):
            results = [passes(part, row) for part in parts]
            decisive = isinstance(expr, Or)
            if decisive in results:
                return decisive
            return None if None in results else not decisive
        case IsNull(child=Column(path=path)):
            return row[path[0]] is None
        case In(value=Column(path=path), options=options):
            return None if row[path[0]] is None else row[path[0]] in options
        case Compare(op=op, left=Column(path=path), right=Literal(value=value)):
            left = row[path[0]]
            if left is None:
                return None
            return {
                Comparison.LESS: left < value,
                Comparison.GREATER_EQUAL: left >= value,
                Comparison.EQUAL: left == value,
            }[op]
    raise AssertionError(expr)


def registers_of(values: Sequence[Decimal]) -> bytes:
    """Return 20 registers of values, with ranks of up to 6 bits."""
    registers = [0] * 20
    for value in values:
        hashed = zlib.crc32(str(value).encode())
        registers[hashed % 20] = max(registers[hashed % 20], (hashed >> 8) % 63 + 1)
    halves = (registers[:10], registers[10:])
    words = [sum(rank << 6 * k for k, rank in enumerate(half)) for half in halves]
    return struct.pack("<2Q", *words) if any(words) else b""


def expected(aggregate: Aggregate, rows: Sequence[Row]) -> Any:
    if aggregate.filter is not None:
        rows = [row for row in rows if passes(aggregate.filter, row) is True]
    if aggregate.argument is None:
        return len(rows)
    (name,) = aggregate.argument.path if isinstance(aggregate.argument, Column) else ("",)
    values = [row[name] for row in rows if row[name] is not None]
    if aggregate.function is Function.COUNT:
        return len(values)
    if aggregate.function is Function.DISTINCT:
        return registers_of(values)
    if aggregate.function is Function.SUM:
        return int(sum(values) * 100) if values else None
    return (min if aggregate.function is Function.MIN else max)(values, default=None)


def answer_of(
    files: Sequence[Sequence[Row]],
    aggregates: Sequence[Aggregate],
    by: Sequence[Column],
    conjuncts: Sequence[Expr],
    groups: tuple[Groups, ...],
) -> Answered:
    kept = np.ones(len(files), np.bool_)
    segments = [Segment(slice(0, len(files)), Files(bounds_of(files), groups))]
    records = np.array([len(rows) for rows in files], np.int64)
    matching = fully_matching(conjuncts, segments, kept)
    return answer(aggregates, segments, kept, matching, records, None, by=by, conjuncts=conjuncts)


ROWS_OF_ANY = st.fixed_dictionaries(
    {
        "id": st.integers(0, 9),
        "flag": st.sampled_from(["A", "R", "ß", None]),
        "size": st.sampled_from([1, 2, None]),
        "x": st.none() | st.decimals(-(10**6), 10**6, places=2),
    }
)
FILES = st.lists(st.lists(ROWS_OF_ANY, max_size=6), min_size=1, max_size=4)
FILTERS = st.sampled_from(
    [
        Compare(Comparison.EQUAL, FLAG, Literal("R", STRING)),
        In(FLAG, ("A", "ß")),
        IsNull(SIZE),
        Compare(Comparison.LESS, SIZE, Literal(2, LONG)),
        Compare(Comparison.GREATER_EQUAL, ID, Literal(0, LONG)),
        Compare(Comparison.LESS, ID, Literal(5, LONG)),
        Or((IsNull(FLAG), Compare(Comparison.LESS, ID, Literal(3, LONG)))),
    ]
)
CALLS = st.sampled_from(
    [
        Aggregate(Function.COUNT, None),
        Aggregate(Function.COUNT, X),
        Aggregate(Function.SUM, X, LIMIT),
        Aggregate(Function.MIN, X),
        Aggregate(Function.MAX, X),
        Aggregate(Function.MAX, ID),
        Aggregate(Function.DISTINCT, X, sketch=SKETCH),
        Aggregate(Function.DISTINCT, X, sketch=sketch_kind(0.05, "another version")),
    ]
)
AGGREGATES = st.lists(
    CALLS | st.builds(lambda call, filter: replace(call, filter=filter), CALLS, FILTERS),
    max_size=3,
)


@given(
    files=FILES,
    aggregates=AGGREGATES,
    by=st.sampled_from([(), (FLAG,), (SIZE,), BY, (SIZE, FLAG)]),
    conjuncts=st.lists(FILTERS, max_size=2),
    data=st.data(),
)
def test_answers_and_files_that_are_left_give_the_whole(
    files: list[list[Row]],
    aggregates: list[Aggregate],
    by: tuple[Column, ...],
    conjuncts: list[Expr],
    data: st.DataObject,
) -> None:
    if not aggregates and not by:
        return
    recorded = data.draw(st.lists(st.booleans(), min_size=len(files), max_size=len(files)))
    both = tuple(
        Groups([rows if flag else None for rows, flag in zip(files, recorded, strict=True)], each)
        for each in ((), BY)
    )
    result = answer_of(files, aggregates, by, conjuncts, both)
    rows: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for left, file in zip(result.left, files, strict=True):
        for row in () if left else file:
            if all(passes(conjunct, row) is True for conjunct in conjuncts):
                rows[tuple(row[column.path[0]] for column in by)].append(row)
    # rows of skipped files change nothing, but are not in the partial values either
    if result.skipped == 0:
        assert {each.by: each.values for each in result.partials} == {
            key: tuple(expected(aggregate, group) for aggregate in aggregates)
            for key, group in rows.items()
        }


@pytest.mark.parametrize(
    ("conjuncts", "left", "partials"),
    [
        ([], [False, False], {("A",): (2, 300), ("R",): (3, 700)}),
        ([Compare(Comparison.EQUAL, FLAG, Literal("R", STRING))], [False, False], {("R",): (3, 700)}),
        ([Compare(Comparison.LESS, ID, Literal(3, LONG))], [False, False], {("A",): (2, 300), ("R",): (1, 100)}),
        ([Compare(Comparison.LESS, ID, Literal(1, LONG))], [True, False], {}),
        ([In(FLAG, ("X",))], [False, False], {}),
    ],
    ids=["none", "group", "file", "cuts a file", "no group"],
)  # fmt: skip
def test_filters_choose_groups(
    conjuncts: list[Expr], left: list[bool], partials: dict[Any, Any]
) -> None:
    files = [
        [_row(0, "A", 1), _row(1, "A", 2), _row(2, "R", 1)],
        [_row(5, "R", 3), _row(5, "R", 3)],
    ]
    aggregates = [Aggregate(Function.COUNT, None), Aggregate(Function.SUM, X, LIMIT)]
    result = answer_of(files, aggregates, [FLAG], conjuncts, (Groups(files),))
    assert result.left.tolist() == left
    assert {each.by: each.values for each in result.partials} == partials


def _row(number: int, flag: str, x: int) -> Row:
    return {"id": number, "flag": flag, "size": 1, "x": Decimal(x)}


@pytest.mark.parametrize(
    ("limit", "recorded", "raises"),
    [
        (501, True, False),  # 5.00 positive: below 501
        (500, True, True),
        (501, False, True),  # of the file that is left, only the type is known
        (10**38, False, True),
    ],
)
def test_sums_stay_below_the_limit(limit: int, recorded: bool, raises: bool) -> None:
    files = [[_row(0, "A", 2)], [_row(3, "A", 3), _row(6, "A", -4)]]
    groups = Groups([files[0], files[1] if recorded else None])
    cut = [Compare(Comparison.LESS, ID, Literal(5, LONG))]
    aggregates = [Aggregate(Function.SUM, X, limit)]
    if raises:
        with pytest.raises(MayOverflowError):
            answer_of(files, aggregates, [FLAG], cut, (groups,))
    else:
        result = answer_of(files, aggregates, [FLAG], cut, (groups,))
        assert result.left.tolist() == [False, True]
        assert [each.values for each in result.partials] == [(200,)]


@pytest.mark.parametrize(
    ("registers", "left"),
    [
        ([b"\1" * 16, b"\2" * 16], []),
        ([b"\1" * 16, b""], []),
        ([b"\1" * 16, b"\2" * 24], [1]),  # of another number of registers
        ([b"\1" * 15, b""], [0]),  # not whole words
    ],
)
def test_registers_that_differ_in_size_are_not_used(
    registers: list[bytes], left: list[int]
) -> None:
    class Damaged(Groups):
        def rows(self, kind: str, argument: Subject | None) -> GroupRows | None:
            found = super().rows(kind, argument)
            if found is None or kind != SKETCH:
                return found
            chosen = [registers[row["id"]] for rows in self.files for row in rows or ()]
            return replace(
                found,
                table=found.table.set_column(
                    found.table.column_names.index("registers"),
                    "registers",
                    pa.array(chosen, pa.binary()),
                ),
            )

    files = [[_row(0, "A", 2)], [_row(1, "A", 3)]]
    aggregates = [Aggregate(Function.DISTINCT, X, sketch=SKETCH)]
    result = answer_of(files, aggregates, [FLAG], [], (Damaged(files),))
    assert np.flatnonzero(result.left).tolist() == left
    with pytest.raises(ValueError, match="different sizes"):
        merged(pa.array([b"\1" * 16, b"\1" * 24], pa.binary()), np.array([2]))


def test_negative_sums_stay_above_the_limit() -> None:
    files = [[_row(0, "A", -2), _row(0, "A", 2)]]
    for limit in (200, 201):
        aggregates = [Aggregate(Function.SUM, X, limit)]
        if limit == 200:
            with pytest.raises(MayOverflowError):
                answer_of(files, aggregates, [FLAG], [], (Groups(files),))
        else:
            (partial,) = answer_of(files, aggregates, [FLAG], [], (Groups(files),)).partials
            assert partial.values == (0,)


LOW, HIGH = (
    Compare(op, ID, Literal(5, LONG)) for op in (Comparison.LESS, Comparison.GREATER_EQUAL)
)


@pytest.mark.parametrize(
    ("condition", "by", "left", "partials"),
    [
        (LOW, (), [False, False], {(): (2, 300, 2, 1, 2)}),
        (HIGH, (), [False, False], {(): (1, 300, 1, 3, 3)}),
        (Compare(Comparison.LESS, ID, Literal(1, LONG)), (), [True, False], {(): (0, None, 0, None, None)}),
        (Compare(Comparison.LESS, ID, Literal(0, LONG)), (), [False, False], {(): (0, None, 0, None, None)}),
        (Compare(Comparison.EQUAL, FLAG, Literal("R", STRING)), (), [False, False], {(): (1, 300, 1, 3, 3)}),
        (LOW, (FLAG,), [False, False], {("A",): (2, 300, 2, 1, 2), ("R",): (0, None, 0, None, None)}),
    ],
    ids=["one file", "the other", "cuts a file", "no file", "group", "groups without rows"],
)  # fmt: skip
def test_filters_of_aggregates(
    condition: Expr, by: tuple[Column, ...], left: list[bool], partials: dict[Any, Any]
) -> None:
    files = [[_row(0, "A", 1), _row(1, "A", 2)], [_row(5, "R", 3)]]
    calls = [
        Aggregate(Function.COUNT, None),
        Aggregate(Function.SUM, X, LIMIT),
        Aggregate(Function.COUNT, X),
        Aggregate(Function.MIN, X),
        Aggregate(Function.MAX, X),
    ]
    aggregates = [replace(call, filter=condition) for call in calls]
    result = answer_of(files, aggregates, by, [], (Groups(files, ()), Groups(files)))
    assert result.left.tolist() == left
    assert {each.by: each.values for each in result.partials} == partials


def test_extreme_of_rows_that_count_skips_no_file() -> None:
    """A file whose values are all greater need not have one among the rows that count."""
    files = [[_row(5, "A", 1), _row(9, "R", 1)], [_row(0, "A", 1), _row(3, "R", 1)]]
    condition = Compare(Comparison.EQUAL, FLAG, Literal("A", STRING))
    for filter, left in ((None, [True, False]), (condition, [True, True])):
        aggregates = [Aggregate(Function.MAX, ID, 0, filter)]
        assert answer_of(files, aggregates, [], [], ()).left.tolist() == left


def test_no_row_counts_although_nothing_is_recorded() -> None:
    files = [[_row(0, "A", 1)], [_row(5, "A", 1)]]
    never = Compare(Comparison.LESS, ID, Literal(0, LONG))
    calls = (Function.SUM, Function.MAX, Function.COUNT)
    for argument in (X, Opaque("f(x)")):
        aggregates = [Aggregate(function, argument, LIMIT, never) for function in calls]
        result = answer_of(files, aggregates, [], [], ())
        assert result.left.tolist() == [False, False]
        assert [each.values for each in result.partials] == [(None, None, 0)]


@pytest.mark.parametrize(("value", "left"), [(-0.0, True), (0.0, True), (1.5, False)])
def test_recorded_zero_is_not_known(value: float, left: bool) -> None:
    """Its sign is that of one of the zeros of a group, and Spark may return another one."""
    y = Column(("x",), DOUBLE)

    class Doubles(Groups):
        def rows(self, kind: str, argument: Subject | None) -> GroupRows | None:
            rows = super().rows(kind, X if argument == y else argument)
            if rows is None or argument is None:
                return rows
            values = pa.array([value] * len(rows.table), pa.float64())
            place = rows.table.column_names.index("value")
            table = rows.table.set_column(place, "value", values)
            return replace(rows, type=DOUBLE, table=table)

    files = [[_row(0, "A", 1)]]
    for by in ((), (FLAG,)):
        for function in (Function.MIN, Function.MAX):
            result = answer_of(files, [Aggregate(function, y)], by, [], (Doubles(files),))
            assert result.left.tolist() == [left]


def test_condition_is_decided_or_not() -> None:
    files = [[_row(0, "A", 1)], [_row(1, "A", 1), _row(8, "A", 1)], [_row(5, "A", 1)]]
    passes, decided = decide([LOW], Files(bounds_of(files), ()))
    assert (passes.tolist(), decided.tolist()) == ([True, False, False], [True, False, True])


def test_condition_that_may_raise_is_left_to_spark() -> None:
    """Spark evaluates the parts of an AND in an order of its own."""
    files = [[_row(0, "A", 1)], [_row(5, "A", 1)]]
    others = (
        (Opaque("f(x)"), True),
        # of a filter, Spark's reader loses rows at this constant: it is not trusted here, either
        (Compare(Comparison.LESS, Column(("d",), DOUBLE), Literal(0.0, DOUBLE)), True),
        (IsNull(FLAG), False),
    )
    for other, left in others:
        condition = And((Compare(Comparison.LESS, ID, Literal(0, LONG)), other))
        aggregates = [Aggregate(Function.COUNT, None, 0, condition)]
        for groups in ((), (Groups(files),)):
            assert answer_of(files, aggregates, [], [], groups).left.tolist() == [left] * 2


def test_file_that_lost_rows_is_read() -> None:
    files = [[_row(0, "A", 2), _row(0, "R", 2)]]
    result = answer_of([files[0][:1]], [Aggregate(Function.COUNT, X)], [FLAG], [], (Groups(files),))
    assert result.left.tolist() == [True]


def test_other_groups_in_another_entry_are_not_used() -> None:
    """The entries of a choice of columns have the same groups, or the index is damaged."""
    files = [[_row(0, "A", 2), _row(0, "R", 2)]]

    class Damaged(Groups):
        def rows(self, kind: str, argument: Subject | None) -> GroupRows | None:
            rows = super().rows(kind, argument)
            if rows is None or kind != "sum":
                return rows
            other = pa.array([b"A", b"X"], pa.binary())
            return replace(rows, table=rows.table.set_column(0, "by.0", other))

    aggregates = [Aggregate(Function.COUNT, None), Aggregate(Function.SUM, X, LIMIT)]
    for groups, left in ((Groups(files), False), (Damaged(files), True)):
        assert answer_of(files, aggregates, [FLAG], [], (groups,)).left.tolist() == [left]
