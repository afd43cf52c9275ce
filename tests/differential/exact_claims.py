"""The exact bounds of a function: the least and the greatest of all its values.

A soundness test cannot detect that a rule has become weaker. Here every value in a small container
is computed, and the claim must match exactly: the edges are attained, NULL and NaN are possible if
and only if some row yields them, and nothing is claimed if some row overflows. For two columns,
every pair of values is a row.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache
from itertools import product
from typing import Any

import pyarrow as pa

from tamis.evaluation.statistics import Statistics
from tamis.expr.decimals import unscaled
from tamis.expr.nodes import Call, Column, Expr, Literal, type_of, walk
from tamis.expr.sql import to_sql
from tamis.expr.types import DataType
from tamis.files.table import ArrowStatistics
from tests.differential.calls import call_value
from tests.differential.claims import Claim, claim_of
from tests.differential.keys import order_key
from tests.differential.rows import row_value

DAY = 86_400_000_000
_DIGITS = Context(prec=80)
_SECOND, _MINUTE, _HOUR = 1_000_000, 60_000_000, 3_600_000_000
Rows = list[dict[tuple[str, ...], Any]]
#: The values of one column in one container.
Values = tuple[Any, ...]
#: The value of a row that overflows, or raises an error.
OVERFLOW = object()


def _whole(bits: int) -> Iterator[Values]:
    least, greatest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    for anchor in (least, least + 1, -100, -13, -8, -2, -1, 0, 1, 5, 14, 25, 49, 95, greatest):
        for count in (1, 2, 4, 12):
            yield tuple(range(anchor, min(anchor + count, greatest + 1)))
    yield tuple(range(greatest - 5, greatest + 1))


def _days() -> Iterator[Values]:
    """Yield days around the ends of years, months, quarters, weeks, centuries and the era."""
    anchors = [-719_162, -366, -365, -141_428, -1, 0, 1, 30, 58, 59, 364, 365, 789]
    for anchor in [*anchors, 19_721, 19_722, 19_781, 19_782, 20_087, 20_088]:
        for count in (1, 2, 8, 32):
            yield tuple(range(anchor, anchor + count))
    for anchor in (-141_428, -366, 30, 364, 19_782):
        yield tuple(range(anchor, anchor + 400))


def _moments() -> Iterator[Values]:
    """Yield both ends of an interval, and both sides of every clock change in between."""
    anchors = [-DAY - 1, -DAY, -1, 0, 1, DAY - 1, 19_781 * DAY, 19_781 * DAY + 5, 59 * DAY - 1]
    for anchor in [*anchors, 364 * DAY, 365 * DAY - 1, 19_782 * DAY + 5 * _HOUR + 7 * _MINUTE]:
        yield (anchor,)
        yield (anchor, anchor + 1)
        yield (anchor, anchor + 1, anchor + 2, anchor + 3)
        for step, count in ((_SECOND, 3), (_MINUTE, 1), (_MINUTE, 3), (_HOUR, 1), (_HOUR, 3)):
            yield _stepped(anchor, step, count)
        yield _stepped(anchor, DAY, 1)
        yield _stepped(anchor, DAY, 3)


def _stepped(first: int, step: int, count: int) -> Values:
    last = first + count * step
    turns = range(-(-first // step) * step, last + 1, step)
    inside = {each for turn in turns for each in (turn - 1, turn) if first <= each <= last}
    return tuple(sorted({first, last, *inside}))


def _decimals(precision: int, scale: int) -> Iterator[Values]:
    end = 10**precision
    # The rules do not compute with unscaled values beyond 64 bits.
    ends = (1 - end, end - 3) if precision <= 18 else ()
    for anchor in (*ends, -10_001, -151, -150, -51, -50, -1, 0, 1, 49, 50, 99, 149):
        for count in (1, 2, 5, 60):
            numbers = range(anchor, min(anchor + count, end))
            yield tuple(Decimal(f"{each}E-{scale}") for each in numbers)


_POINTS = (-math.inf, -1e9, -2.5, -1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
_POINTS += (2.5, 3.0, 7.0, 100.0, 2.0**31, 2.0**40, math.inf)


def _floats() -> Iterator[Values]:
    for place, point in enumerate(_POINTS):
        yield (point,)
        for end in (place + 1, place + 2, place + 4, place + 9):
            if end < len(_POINTS):
                yield _POINTS[place : end + 1]


_TEXTS = ("", "a", "ab", "abc", "b", " a", "a ", "a  b ", "é", "aé", "éa", "ÉA", "Z", "zZ", "a\0")
_TEXTS += ("17", "-4", "12", "300", "2024-01-05", "t", "true", "\U0010ffff", "\U0001f600b")


def _strings() -> Iterator[Values]:
    yield from ((text,) for text in _TEXTS)


_INTERVALS = (-3 * DAY - 7, -1, 0, 1, DAY, 31 * DAY)


def containers_of(data_type: DataType) -> Iterator[Values]:
    """Yield sets of values. Types with few values get all values between two edges."""
    match data_type.name:
        case "boolean":
            yield from ((False,), (True,), (False, True))
        case "byte" | "short" | "integer" | "long":
            yield from _whole({"byte": 8, "short": 16, "integer": 32, "long": 64}[data_type.name])
        case "date":
            yield from _days()
        case "timestamp" | "timestamp_ntz":
            yield from _moments()
        case "decimal":
            yield from _decimals(data_type.precision or 0, data_type.scale or 0)
        case "float" | "double":
            yield from _floats()
        case "string":
            yield from _strings()
        case "binary":
            yield from ((text.encode(),) for text in _TEXTS)


_ARROW = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "string": pa.string(),
    "binary": pa.binary(),
}


@dataclass(frozen=True, slots=True)
class Table:
    """Containers, each with its rows, and the statistics that a writer would record for them."""

    rows: list[Rows]
    statistics: Statistics


@cache
def table_of(columns: tuple[Column, ...]) -> Table:
    """Return every container of one column, with and without NULL and NaN; some pairs for two."""
    if len(columns) == 1:
        chosen = [(each,) for each in _with_nothing(columns[0].type)]
    else:
        several = [_few(column.type) for column in columns]
        chosen = list(product(*several))
    return table_over(columns, chosen)


def table_over(columns: tuple[Column, ...], chosen: Sequence[tuple[Values, ...]]) -> Table:
    """Return containers with these values of each column, in every combination."""
    cells: dict[str, Any] = {}
    rows = [
        [
            {column.path: value for column, value in zip(columns, values, strict=True)}
            for values in product(*of_columns)
        ]
        for of_columns in chosen
    ]
    cells["num_records"] = pa.array([len(each) for each in rows])
    for column in columns:
        name, arrow = ".".join(column.path), _arrow(column.type)
        values = [[row[column.path] for row in each] for each in rows]
        ordinary = [[v for v in each if v is not None and v == v] for each in values]
        edges = [
            (min(each, key=order_key), max(each, key=order_key)) if each else (None, None)
            for each in ordinary
        ]
        cells[f"min.{name}"] = pa.array([low for low, _ in edges], arrow)
        cells[f"max.{name}"] = pa.array([high for _, high in edges], arrow)
        cells[f"null_count.{name}"] = pa.array([each.count(None) for each in values], pa.int64())
        if column.type.is_floating:
            nans = [sum(v is not None and v != v for v in each) for each in values]
            cells[f"nan_count.{name}"] = pa.array(nans, pa.int64())
    return Table(rows, ArrowStatistics(pa.table(cells)))


def _arrow(data_type: DataType) -> pa.DataType:
    if data_type.is_decimal:
        return pa.decimal128(data_type.precision or 0, data_type.scale or 0)
    return _ARROW[data_type.name]


def _with_nothing(data_type: DataType) -> Iterator[Values]:
    for number, values in enumerate(containers_of(data_type)):
        yield values
        if number % 4 == 0:
            yield (*values, None)
        if number % 4 == 1 and data_type.is_floating:
            yield (*values, math.nan)
    yield (None,)
    if data_type.is_floating:
        yield (math.nan,)
        yield (math.nan, None)


def _few(data_type: DataType) -> list[Values]:
    """Return some of the containers of a type, for tables of two columns."""
    every = [each for each in containers_of(data_type) if len(each) <= 4]
    # Sizes repeat with a period of two or three, so a step of five takes some of each size.
    several = every[::5] if len(every) > 15 else every
    extra: list[Values] = [(None,), (*several[1], None)]
    if data_type.is_floating:
        extra += [(math.nan,), (*several[2], math.nan)]
    return [*several, every[-1], *extra]


@dataclass(frozen=True, slots=True)
class Expected:
    """The facts that the rows of a container establish."""

    lower: Any
    upper: Any
    null: bool
    nan: bool
    overflow: bool

    @property
    def value(self) -> bool:
        return self.lower is not None


#: Other names of the units that calls.py implements.
_UNITS = {"MON": "MM", "YY": "YEAR", "YYYY": "YEAR", "DD": "DAY"}


def _canonical(call: Call) -> Call:
    """Return the call with the unit, or day of the week, in the spelling of calls.py."""
    if call.name not in ("TruncDate", "TruncTimestamp", "NextDay"):
        return call
    arguments = tuple(
        Literal(_UNITS.get(each.value.upper(), each.value.upper()), each.type)
        if isinstance(each, Literal) and isinstance(each.value, str)
        else each
        for each in call.arguments
    )
    return replace(call, arguments=arguments)


def expected(call: Call, rows: Rows) -> Expected:
    """Return the exact bounds of a call over all rows."""
    call = _canonical(call)
    computed = [_exact_value(call, row) for row in rows]
    defined = [each for each in computed if each is not OVERFLOW]
    ordinary = [bound(each) for each in defined if each is not None and each == each]
    return Expected(
        min(ordinary, key=order_key, default=None),
        max(ordinary, key=order_key, default=None),
        None in defined,
        any(each is not None and each != each for each in defined),
        len(defined) < len(computed),
    )


def bound(value: Any) -> Any:
    """Return the value as an edge represents it."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _exact_value(call: Call, row: Mapping[tuple[str, ...], Any]) -> Any:
    """Return the value before truncation to its type; OVERFLOW if the type has no such value."""
    arguments = [row_value(each, row) for each in call.arguments]
    mode = call.option("evalMode")
    if call.name == "Cast":
        tried = call_value(replace(call, options=_with_mode(call, "TRY")), arguments)
        if tried is None and arguments[0] is not None and mode != "TRY":
            lost = arguments[0] != arguments[0] or not call.type.is_decimal or mode == "ANSI"
            return OVERFLOW if lost else None
        return tried
    if call.type.name == "float":
        result = call_value(call, arguments)
        return None if result is None else ctypes.c_float(result).value
    if not call.type.is_discrete and not call.type.is_decimal:
        return call_value(call, arguments)
    plain = DataType("string")  # a type without a size: nothing is truncated
    raw = call_value(replace(call, type=plain), arguments)
    if raw is None and None not in arguments and mode == "ANSI":
        return OVERFLOW
    if call.type.is_decimal and raw is not None:
        unit = Decimal(1).scaleb(-(call.type.scale or 0))
        raw = raw.quantize(unit, ROUND_HALF_UP, _DIGITS) if call.name == "Divide" else raw
        digits = abs(unscaled(raw, call.type.scale or 0))
        return OVERFLOW if digits >= 10 ** (call.type.precision or 0) else raw
    if isinstance(raw, int) and not isinstance(raw, bool):
        least, greatest = call.type.domain
        return raw if least <= raw <= greatest else OVERFLOW
    return raw


def _with_mode(call: Call, mode: str) -> tuple[tuple[str, str], ...]:
    return (*(each for each in call.options if each[0] != "evalMode"), ("evalMode", mode))


def columns_of(expr: Expr) -> tuple[Column, ...]:
    """Return the columns of an expression without duplicates, in order of appearance."""
    return tuple(dict.fromkeys(each for each in walk(expr) if isinstance(each, Column)))


def claim_over(call: Expr, table: Table) -> Claim:
    """Return the claim about a call in each container of the table."""
    data_type = type_of(call)
    assert data_type is not None
    claim = claim_of(to_sql(call), data_type.name, call, table.statistics, len(table.rows))
    assert claim is not None, "the type is unknown"
    return claim


def edge_of(edge: Any, call: Call) -> Any:
    """Convert an edge of a claim to the value that it represents."""
    if call.type.is_decimal and isinstance(edge, int):
        return Decimal(f"{edge}E-{call.type.scale or 0}")
    return edge
