"""Verdicts from a recorded comparison or difference of two columns hold for every row."""

from __future__ import annotations

import datetime
import math
import zoneinfo
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.interpreter import truth
from tamis.evaluation.pairs.recorded_differences import recorded_relation
from tamis.evaluation.pairs.relations import Pair, Subtraction, pair_of
from tamis.evaluation.statistics import Recorded, Relation, RelationKind, Statistics
from tamis.expr.nodes import (
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    type_of,
)
from tamis.expr.rewrites import simplify
from tamis.expr.types import (
    BOOLEAN,
    DATE,
    DAY_TIME_INTERVAL,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tamis.files.bounds import column_bounds
from tamis.indexing.read.recorded_relations import Relations

SECOND, DAY = 1_000_000, 86_400_000_000
ZONE = "America/New_York"
#: The clocks in New York were set back at this moment, 2024-11-03 06:00 UTC.
BACK = 1_730_613_600 * SECOND
BYTES = DataType("byte")
SMALL, LARGE = decimal(4, 1), decimal(6, 2)


class RaisesError(Exception):
    """Spark would raise an error for this row."""


# --- Spark's meaning of expressions, for one row --------------------------------------------------


def of_row(expr: Expr, row: dict[str, Any]) -> Any:
    match expr:
        case Literal(value=value):
            return value
        case Column(path=(name,)):
            return row[name]
        case Not(child=child):
            operand = of_row(child, row)
            return None if operand is None else not operand
        case IsNull(child=child):
            return of_row(child, row) is None
        case In(value=child, options=options):
            value = of_row(child, row)
            return None if value is None else value in options
        case Compare(op=op, left=left, right=right):
            return compared(op, of_row(left, row), of_row(right, row))
        case Call(arguments=arguments):
            values = [of_row(each, row) for each in arguments]
            return None if None in values else called(expr, *values)
    raise AssertionError(expr)


def compared(op: Comparison, x: Any, y: Any) -> bool | None:
    if op is Comparison.NULL_SAFE_EQUAL:
        return x is None and y is None if x is None or y is None else order(x) == order(y)
    if x is None or y is None:
        return None
    left, right = order(x), order(y)
    return {
        Comparison.EQUAL: left == right,
        Comparison.NOT_EQUAL: left != right,
        Comparison.LESS: left < right,
        Comparison.LESS_EQUAL: left <= right,
        Comparison.GREATER: left > right,
        Comparison.GREATER_EQUAL: left >= right,
    }[op]


def order(value: Any) -> Any:
    """NaN is the greatest value."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


def called(call: Call, *values: Any) -> Any:
    match call.name:
        case "Add":
            return whole(call, values[0] + values[1])
        case "Subtract" if call.type.is_floating:
            with np.errstate(all="ignore"):
                kind = np.float32 if call.type == FLOAT else np.float64
                return float(kind(values[0]) - kind(values[1]))
        case "Subtract":
            return whole(call, values[0] - values[1])
        case "DateAdd":
            return wrapped(INTEGER, values[0] + values[1])
        case "DateSub":
            return wrapped(INTEGER, values[0] - values[1])
        case "DateDiff":
            return wrapped(INTEGER, values[0] - values[1])
        case "SubtractDates":
            return (values[0] - values[1]) * DAY
        case "SubtractTimestamps":
            return local(call, values[0]) - local(call, values[1])
        case "TimestampDiff":
            apart = local(call, values[1]) - local(call, values[0])
            unit = {"SECOND": SECOND, "HOUR": 3600 * SECOND, "DAY": DAY}[str(call.option("unit"))]
            return abs(apart) // unit * (1 if apart >= 0 else -1)
        case "TimestampAddInterval":
            return values[0] + values[1]
        case "UnixSeconds":
            return values[0] // SECOND
        case "UnixTimestamp":
            return abs(values[0]) // SECOND * (1 if values[0] >= 0 else -1)
        case "UnixDate":
            return values[0]
        case "Cast" if call.type == DATE:
            return local(call, values[0]) // DAY
        case "Cast":
            return values[0]
    raise AssertionError(call)


def whole(call: Call, exact: Any) -> Any:
    if call.type.is_decimal or -(1 << (bits(call.type) - 1)) <= exact < 1 << (bits(call.type) - 1):
        return exact
    match call.option("evalMode"):
        case "ANSI":
            raise RaisesError
        case "TRY":
            return None
    return wrapped(call.type, exact)


def bits(data_type: DataType) -> int:
    return {"byte": 8, "integer": 32, "long": 64}[data_type.name]


def wrapped(data_type: DataType, value: int) -> int:
    size = 1 << bits(data_type)
    return (value + size // 2) % size - size // 2


def local(call: Call, moment: int) -> int:
    if type_of(call.arguments[0]) == TIMESTAMP_NTZ:
        return moment
    zone = zoneinfo.ZoneInfo(ZONE)
    at = datetime.datetime.fromtimestamp(moment // SECOND, zone)
    offset = at.utcoffset()
    assert offset is not None
    return moment + int(offset.total_seconds()) * SECOND


# --- expressions ----------------------------------------------------------------------------------

#: The least positive number of 32 bits.
TINY = 2.0**-149
VALUES: dict[DataType, list[Any]] = {
    BYTES: [-128, -127, -100, -3, -1, 0, 1, 2, 3, 100, 126, 127],
    INTEGER: [-(2**31), -(2**31) + 1, -5, -1, 0, 1, 3, 7, 2**31 - 2, 2**31 - 1],
    LONG: [-(2**63), -(2**63) + 1, -(2**62), -5, 0, 1, 3, 2**62, 2**63 - 2, 2**63 - 1],
    SMALL: [Decimal(each) for each in ("-999.9", "-1.5", "0.0", "0.1", "1.5", "2.0", "999.9")],
    LARGE: [Decimal(each) for each in ("-9999.99", "-1.55", "0.00", "0.05", "1.50", "9999.99")],
    DATE: [-(2**31), -800_000, -5, 0, 1, 3, 19_000, 19_001, 2**31 - 3, 2**31 - 1],
    TIMESTAMP: [
        1 - SECOND,
        -1,
        0,
        1,
        SECOND - 1,
        SECOND,
        DAY - 1,
        DAY,
        *(BACK + i * 600 * SECOND for i in range(-8, 8)),
    ],
    TIMESTAMP_NTZ: [-DAY - 1, -SECOND, -SECOND + 1, -1, 0, 1, SECOND - 1, SECOND, DAY, 3 * DAY - 1],
    DOUBLE: [
        -math.inf,
        -1e308,
        -1.5,
        -5e-324,
        -0.0,
        0.0,
        5e-324,
        1.5,
        2.0**998,
        math.inf,
        math.nan,
    ],
    FLOAT: [-math.inf, -(2.0**99), -1.5, -TINY, -0.0, 0.0, TINY, 1.5, 2.0**99, math.inf, math.nan],
    STRING: ["", "a", "ab", "b", "é", "\U0010ffff"],
}
#: Types of columns that are compared with each other.
TOGETHER = [
    *((each, each) for each in VALUES),
    (BYTES, INTEGER),
    (INTEGER, LONG),
    (SMALL, LARGE),
    (INTEGER, SMALL),
    (FLOAT, DOUBLE),
]
MODES = st.sampled_from(["LEGACY", "ANSI", "TRY"])


def call(name: str, data_type: DataType, *arguments: Expr, **options: Any) -> Call:
    return Call(name, arguments, tuple(options.items()), data_type)


def widened(expr: Expr, wanted: DataType) -> Expr:
    return expr if type_of(expr) == wanted else call("Cast", wanted, expr)


def common(left: DataType, right: DataType) -> DataType:
    if left == right:
        return left
    if left.is_decimal or right.is_decimal:
        return decimal(12, 2)
    return right if right.name in ("long", "double") or left == BYTES else left


@st.composite
def shifted(draw: st.DrawFn, column: Column) -> Expr:
    """A column, or a value that differs from it by a constant."""
    kind, by = column.type, draw(st.integers(-4, 4))
    choices: list[Expr] = [column, column]
    if kind.is_integral:
        constant = Literal(by, kind)
        choices += [
            call("Add", kind, column, constant, evalMode=draw(MODES)),
            call("Add", kind, constant, column, evalMode=draw(MODES)),
            call("Subtract", kind, column, constant, evalMode=draw(MODES)),
        ]
    if kind.is_decimal:
        choices.append(call("Add", decimal(9, 3), column, Literal(Decimal(by) / 8, decimal(5, 3))))
    if kind == DATE:
        choices += [
            call(name, DATE, column, Literal(by, INTEGER)) for name in ("DateAdd", "DateSub")
        ]
    if kind in (TIMESTAMP, TIMESTAMP_NTZ):
        unit = draw(st.sampled_from([SECOND, 3600 * SECOND] + [DAY // 2] * (kind == TIMESTAMP_NTZ)))
        constant = Literal(by * unit, DAY_TIME_INTERVAL)
        choices.append(call("TimestampAddInterval", kind, column, constant, timeZoneId=ZONE))
    return draw(st.sampled_from(choices))


def rounded(x: Expr, y: Expr) -> list[tuple[Expr, Expr]]:
    """Return two moments as seconds and as days."""
    return [
        (call("UnixTimestamp", LONG, x), call("UnixTimestamp", LONG, y)),
        (call("Cast", DATE, x, timeZoneId=ZONE), call("Cast", DATE, y, timeZoneId=ZONE)),
    ]


@st.composite
def compared_columns(draw: st.DrawFn, left: Column, right: Column) -> Expr:
    x, y = draw(shifted(left)), draw(shifted(right))
    wanted = common(type_of(x) or LONG, type_of(y) or LONG)
    if left.type.is_decimal or right.type.is_decimal:
        wanted = decimal(15, 3)
    op = draw(st.sampled_from([*Comparison]))
    sides = widened(x, wanted), widened(y, wanted)
    if wanted in (TIMESTAMP, TIMESTAMP_NTZ):
        sides = draw(st.sampled_from([sides, *rounded(*sides)]))
    expr: Expr = Compare(op, *(reversed(sides) if draw(st.booleans()) else sides))
    return Not(expr) if draw(st.booleans()) else expr


@st.composite
def subtracted(draw: st.DrawFn, left: Column, right: Column) -> Expr:
    """A difference of two columns, in either direction."""
    sides = (right, left) if draw(st.booleans()) else (left, right)
    kind = common(left.type, right.type)
    if kind.is_decimal:
        return call("Subtract", decimal(13, 2), *(widened(each, decimal(12, 2)) for each in sides))
    if kind.is_integral:
        x, y = (widened(draw(shifted(each)), kind) for each in sides)
        return call("Subtract", kind, x, y, evalMode=draw(MODES))
    if kind.is_floating:
        return call("Subtract", kind, *(widened(each, kind) for each in sides))
    if kind == DATE:
        x, y = (draw(shifted(each)) for each in sides)
        unix = [call("UnixDate", INTEGER, each) for each in (x, y)]
        choices = [
            call("DateDiff", INTEGER, x, y),
            call("SubtractDates", DAY_TIME_INTERVAL, x, y),
            call("Subtract", INTEGER, *unix, evalMode=draw(MODES)),
        ]
        return draw(st.sampled_from(choices))
    if kind in (TIMESTAMP, TIMESTAMP_NTZ):
        x, y = (draw(shifted(each)) for each in sides)
        unit = draw(st.sampled_from(["SECOND", "HOUR", "DAY"]))
        days = [call("Cast", DATE, each, timeZoneId=ZONE) for each in (x, y)]
        seconds = [call("UnixTimestamp", LONG, each) for each in (x, y)]
        choices = [
            call("SubtractTimestamps", DAY_TIME_INTERVAL, x, y, timeZoneId=ZONE),
            call("TimestampDiff", LONG, x, y, unit=unit, timeZoneId=ZONE),
            call("DateDiff", INTEGER, *days),
            call("Subtract", LONG, *seconds, evalMode=draw(MODES)),
        ]
        if kind == TIMESTAMP:
            floors = [call("UnixSeconds", LONG, each) for each in (x, y)]
            choices.append(call("Subtract", LONG, *floors, evalMode=draw(MODES)))
        return draw(st.sampled_from(choices))
    return draw(compared_columns(left, right))


@st.composite
def predicates(draw: st.DrawFn, left: Column, right: Column) -> Expr:
    expr = draw(st.one_of(compared_columns(left, right), subtracted(left, right)))
    kind = type_of(expr)
    assert kind is not None
    if kind == BOOLEAN:
        return expr
    step = DAY if kind == DAY_TIME_INTERVAL else 1
    plain = [each * step for each in range(-3, 4)]
    if kind.is_floating:
        values: list[Any] = [0.0, -0.0, VALUES[kind][6], 1.5, math.inf, math.nan]
    elif kind.is_decimal:
        values = [Decimal(each) / 2 for each in plain]
    else:
        values = plain
    if draw(st.integers(0, 3)) == 0 and not kind.is_floating:
        return In(expr, tuple(draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))))
    op = draw(st.sampled_from([*Comparison]))
    return Compare(op, expr, Literal(draw(st.sampled_from(values)), kind))


# --- statistics -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Files(Statistics):
    """Files of rows, with one recorded expression and perhaps the bounds of columns."""

    files: list[list[dict[str, Any]]]
    recorded: Expr
    knows_columns: bool
    computed: dict[Expr, Bounds] = field(default_factory=dict)

    @property
    def num_containers(self) -> int:
        return len(self.files)

    def bounds(self, column: Column) -> Bounds:
        if not self.knows_columns:
            return Bounds.unknown(column.type)
        return self._exact(column, column.type)

    def expression(self, key: Recorded) -> Bounds | None:
        if not isinstance(key, Relation):
            return None
        pair = pair_of(self.recorded)
        if pair is None:
            return None
        recorded = self._exact(self.recorded, type_of(self.recorded) or LONG)
        return recorded_relation(
            key,
            [(each, recorded, is_mirrored) for each, is_mirrored in of_sides(pair, key)],
            self,
        )

    def _exact(self, expr: Expr, data_type: DataType) -> Bounds:
        if expr not in self.computed:
            self.computed[expr] = self._computed(expr, data_type)
        return self.computed[expr]

    def _computed(self, expr: Expr, data_type: DataType) -> Bounds:
        stored = LONG if data_type == DAY_TIME_INTERVAL else data_type
        values = [[of_row(expr, row) for row in rows] for rows in self.files]
        nans = [[v for v in each if isinstance(v, float) and math.isnan(v)] for each in values]
        ordinary = [
            sorted(
                (v for v in each if v is not None and not (isinstance(v, float) and math.isnan(v))),
                key=order,
            )
            for each in values
        ]

        def edge(at: int) -> pa.Array:
            return pa.array(
                [each[at] if each else None for each in ordinary], ARROW[stored.name](stored)
            )

        return column_bounds(
            stored,
            edge(0),
            edge(-1),
            pa.array([sum(v is None for v in each) for each in values], pa.int64()),
            pa.array([len(each) for each in nans], pa.int64()),
            pa.array([len(each) for each in values], pa.int64()),
        )


def of_sides(pair: Pair | Subtraction, relation: Relation) -> list[tuple[Pair | Subtraction, bool]]:
    own = pair.relation(relation.kind) if isinstance(pair, Pair) else pair.relation()
    relations = Relations({(own.left, own.right): (("k", pair),)}, lambda path: path)
    return [(each.pair, each.is_mirrored) for each in relations.over(relation)]


ARROW = {
    "boolean": lambda _: pa.bool_(),
    "byte": lambda _: pa.int8(),
    "integer": lambda _: pa.int32(),
    "long": lambda _: pa.int64(),
    "float": lambda _: pa.float32(),
    "double": lambda _: pa.float64(),
    "string": lambda _: pa.string(),
    "date": lambda _: pa.int32(),
    "timestamp": lambda _: pa.int64(),
    "timestamp_ntz": lambda _: pa.int64(),
    "decimal": lambda t: pa.decimal128(t.precision, t.scale),
}


def rows_of(types: tuple[DataType, DataType]) -> list[dict[str, Any]]:
    """Return every pair of values, and of a value and NULL."""
    left, right = ([*VALUES[each], None] for each in types)
    return [{"a": a, "b": b} for a in left for b in right]


@st.composite
def questions(draw: st.DrawFn, types: tuple[DataType, DataType]) -> tuple[Files, list[Expr]]:
    left, right = (Column((name,), t) for name, t in zip("ab", types, strict=True))
    recorded = simplify(draw(st.one_of(compared_columns(left, right), subtracted(left, right))))
    rows = [row for row in rows_of(types) if works(recorded, row)]
    random = draw(st.randoms(use_true_random=False))
    files = [[], *([row] for row in rows), *(random.choices(rows, k=3) for _ in range(50))]
    some = st.lists(predicates(left, right), min_size=4, max_size=4)
    return Files(files, recorded, draw(st.booleans())), draw(some)


def works(expr: Expr, row: dict[str, Any]) -> bool:
    """Return whether Spark can record the expression of this row."""
    try:
        value = of_row(expr, row)
    except RaisesError:
        return False
    return not (isinstance(value, int) and abs(value) >= 2**63)


@pytest.mark.parametrize("types", TOGETHER, ids=lambda types: " and ".join(map(str, types)))
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_truth_of_a_predicate_over_two_columns_holds_for_every_row(
    data: st.DataObject, types: tuple[DataType, DataType]
) -> None:
    files, predicates = data.draw(questions(types))
    for predicate in predicates:
        truths = truth(simplify(predicate), files)
        true, false, null = (
            np.broadcast_to(each, (len(files.files),)).tolist()
            for each in (truths.can_be_true, truths.can_be_false, truths.can_be_null)
        )
        for number, rows in enumerate(files.files):
            possible = {True: true[number], False: false[number], None: null[number]}
            for row in rows:
                try:
                    value = of_row(predicate, row)
                except RaisesError:
                    continue
                assert possible[value], (row, value, files.recorded, predicate)


def test_recorded_relations_are_used() -> None:
    """The property would also hold if nothing was ever decided."""
    a, b = Column(("a",), INTEGER), Column(("b",), INTEGER)
    rows = [{"a": 5, "b": 3}, {"a": 9, "b": 8}]
    files = Files([rows], call("Subtract", INTEGER, a, b, evalMode="ANSI"), False)
    assert files.expression(Relation(RelationKind.DIFFERENCE, b, a)) is not None
    assert truth(Compare(Comparison.LESS, a, b), files).can_be_true.tolist() == [False]


@pytest.mark.parametrize("kind", [*RelationKind])
def test_relation_of_other_columns_is_not_known(kind: RelationKind) -> None:
    a, b, c = (Column((name,), INTEGER) for name in "abc")
    files = Files([[{"a": 1, "b": 2}]], Compare(Comparison.EQUAL, a, b), True)
    assert files.expression(Relation(kind, a, c)) is None


def test_days_with_25_hours_are_allowed_for() -> None:
    """From the first moment of 3 November 2024 in New York to the last one of the next day."""
    a, b = Column(("a",), TIMESTAMP), Column(("b",), TIMESTAMP)
    hour = 3600 * SECOND
    row = {"a": BACK + 47 * hour - 1, "b": BACK - 2 * hour}
    days = [call("Cast", DATE, each, timeZoneId=ZONE) for each in (a, b)]
    recorded = call("SubtractDates", DAY_TIME_INTERVAL, *days)
    assert of_row(recorded, row) == DAY
    found = Files([[row]], recorded, False).expression(Relation(RelationKind.DIFFERENCE, a, b))
    assert found is not None
    assert found.upper is not None
    assert 49 * hour - 1 <= found.upper[0] < 56 * hour
