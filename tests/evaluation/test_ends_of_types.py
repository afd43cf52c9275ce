"""Arithmetic, casts and rounding at the ends of types: bounds hold for every value."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from tamis.expr.nodes import Call, Column
from tamis.expr.types import (
    BOOLEAN,
    BYTE,
    CALENDAR_INTERVAL,
    DAY_TIME_INTERVAL,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    DataType,
    decimal,
)
from tests.differential.exact_claims import (
    Expected,
    Rows,
    Values,
    claim_over,
    columns_of,
    expected,
    table_over,
)
from tests.differential.rows import row_value
from tests.evaluation.test_exact_bounds import assert_sound, call

_FLOATS: list[Values] = [
    *((each,) for each in (-math.inf, -2.5, -0.5, 0.0, 0.5, 3.0, 7.0, math.inf, math.nan)),
    *((-math.inf, 5.0), (-3.0, math.inf), (-1.0, 1.0), (0.0, 2.0), (-2.0, 0.0), (2.5, 7.5)),
    *((-math.inf, math.inf), (1.0, math.nan), (-1.0, None), (None,)),
]


def _numbers(least: int, greatest: int) -> list[Values]:
    """Return containers with the ends of a type, and with small numbers of both signs."""
    single = (least, least + 1, -7, -2, -1, 0, 1, 2, 7, greatest - 1, greatest)
    ranges = (
        *((least, least + 1, least + 2), (least, greatest), (least, -1), (1, greatest)),
        *((-3, -2, -1), (-1, 0), (-1, 0, 1), (0, 1), (1, 2, 3), (5, 6, 7), (-7, -6), (-7, 7)),
        *((greatest - 2, greatest - 1, greatest), (0, greatest), (least, 0), (2, None), (None,)),
    )
    return [*((each,) for each in single), *ranges]


def _decimals(precision: int, scale: int) -> list[Values]:
    greatest = 10**precision - 1
    return [
        tuple(None if each is None else Decimal(each).scaleb(-scale) for each in values)
        for values in _numbers(-greatest, greatest)
    ]


TYPES: dict[DataType, list[Values]] = {
    BYTE: _numbers(-128, 127),
    INTEGER: _numbers(-(1 << 31), (1 << 31) - 1),
    LONG: _numbers(-(1 << 63), (1 << 63) - 1),
    FLOAT: [
        *_FLOATS,
        *((sign * 2.0**127 * n,) for sign in (1, -1) for n in (1.5, 1.9990234375)),
        (2.0**-149, 2.0),
    ],
    DOUBLE: [
        *_FLOATS,
        *((sign * 2.0**1023 * n,) for sign in (1, -1) for n in (1.5, 1.999)),
        (2.0**-1074, 2.0),
        (-1e308, 1e308),
    ],
    decimal(9, 0): _decimals(9, 0),
    decimal(9, 2): _decimals(9, 2),
    decimal(18, 0): _decimals(18, 0),
    decimal(18, 17): _decimals(18, 17),
}


def _result(name: str, data_type: DataType) -> DataType:
    """Return the type that Catalyst gives the result."""
    precision, scale = data_type.precision or 0, data_type.scale or 0
    if name == "IntegralDivide":
        return LONG
    if not data_type.is_decimal or name in ("Remainder", "Pmod"):
        return data_type
    if name in ("Add", "Subtract"):
        return decimal(precision + 1, scale)
    if name == "Multiply":
        return decimal(min(38, 2 * precision + 1), 2 * scale)
    # Both operands have the same type.
    digits, fraction = precision, max(6, scale + precision + 1)
    if digits + fraction > 38:
        fraction = max(38 - digits, min(fraction, 6))
    return decimal(min(38, digits + fraction), fraction)


def _calls() -> list[Call]:
    calls = []
    for data_type in TYPES:
        x, y = Column(("x",), data_type), Column(("y",), data_type)
        for name in (
            "Add",
            "Subtract",
            "Multiply",
            "Divide",
            "IntegralDivide",
            "Remainder",
            "Pmod",
        ):
            whole = data_type.is_integral
            if (name == "Divide" and whole) or (name == "IntegralDivide" and data_type.is_floating):
                continue
            result = _result(name, data_type)
            for mode in ("LEGACY", "ANSI", "TRY"):
                calls.append(call(name, result, x, y, mode=mode))
    return calls


def _id(tried: Call) -> str:
    return f"{tried.name} {columns_of(tried)[0].type} {tried.option('evalMode')}"


@pytest.mark.parametrize("tried", _calls(), ids=_id)
def test_bounds_are_sound_at_the_ends_of_the_type(tried: Call) -> None:
    columns = columns_of(tried)
    pools: list[list[Values]] = [TYPES[each.type] for each in columns]
    table = table_over(columns, list(product(*pools)))
    claim = claim_over(tried, table)
    said = 0
    for place, rows in enumerate(table.rows):
        reference: Any = expected(tried, rows)
        assert_sound(tried, claim, place, rows, reference)
        said += bool(claim.says_anything[place])
    if tried.name == "Divide" and (tried.type.scale or 0) > 18:
        assert said == 0
    else:
        assert said > len(table.rows) // 8, said


@pytest.mark.parametrize("mode", ["LEGACY", "ANSI"])
@pytest.mark.parametrize("divisor", ["0.01", "-0.01", "0.02", "3.00", "-9999999.99"])
def test_quotients_of_one_divisor_are_known(divisor: str, mode: str) -> None:
    """The divisor is the least one of its sign, an ordinary one, and the least of its type."""
    data_type = decimal(9, 2)
    x, y = Column(("x",), data_type), Column(("y",), data_type)
    for name in ("Divide", "IntegralDivide", "Remainder", "Pmod"):
        tried = call(name, _result(name, data_type), x, y, mode=mode)
        pools = [TYPES[data_type], [(Decimal(divisor),)]]
        table = table_over(columns_of(tried), list(product(*pools)))
        claim = claim_over(tried, table)
        for place, rows in enumerate(table.rows):
            reference: Any = expected(tried, rows)
            assert_sound(tried, claim, place, rows, reference)
            # The least number divided by -1 overflows, in unscaled values.
            overflows = name == "IntegralDivide" and divisor == "-0.01"
            negative = overflows or (name == "Pmod" and divisor.startswith("-"))
            small = all(abs(row[("x",)] or 0) < 1 for row in rows)
            if small and reference.value and not negative:
                assert claim.lower[place] is not None, rows
                assert claim.says_anything[place], rows


@pytest.mark.parametrize("scale", [-15, 0, 15])
@pytest.mark.parametrize("name", ["Round", "BRound"])
def test_rounded_numbers_are_known(name: str, scale: int) -> None:
    tried = call(name, DOUBLE, Column(("x",), DOUBLE), scale)
    table = table_over(columns_of(tried), [((0.5,),), ((-2.5, 7.25),), ((1e15, 2e15),)])
    assert all(claim_over(tried, table).says_anything)


def test_floor_of_large_numbers_is_exact() -> None:
    values = (1.5 * 2.0**61, 1.5 * 2.0**62, -1.5 * 2.0**62, -(2.0**63) + 1024)
    for name in ("Floor", "Ceil"):
        tried = call(name, LONG, Column(("x",), DOUBLE))
        claim = claim_over(tried, table_over(columns_of(tried), [((each,),) for each in values]))
        assert claim.lower == claim.upper == [int(each) for each in values]


@pytest.mark.parametrize("target", [DAY_TIME_INTERVAL, CALENDAR_INTERVAL], ids=str)
def test_casts_of_texts_to_other_types_are_unknown(target: DataType) -> None:
    tried = call("Cast", target, Column(("x",), STRING))
    claim = claim_over(tried, table_over(columns_of(tried), [(("a",),), (("5", "7"),)]))
    assert not any(claim.says_anything)


def test_factorial_is_null_beyond_twenty() -> None:
    tried = call("Factorial", LONG, Column(("x",), INTEGER))
    pools = [(0,), (0, 1), (-1,), (-1, 0), (19, 20), (20,), (20, 21), (21,), (5, 6, 7)]
    table = table_over(columns_of(tried), [(values,) for values in pools])
    claim = claim_over(tried, table)
    for place, rows in enumerate(table.rows):
        reference: Any = expected(tried, rows)
        assert_sound(tried, claim, place, rows, reference)
        assert claim.can_be_null[place] == reference.null, rows
        assert not reference.value or claim.upper[place] == reference.upper, rows


_POWERS = (7, 8, 15, 16, 31, 32, 52, 53, 62, 63, 64)
#: Doubles at which types of whole numbers end, and just beyond.
_EDGES = sorted(
    {
        sign * value
        for power in _POWERS
        for value in (2.0**power - 1, 2.0**power, 2.0**power + 1, math.nextafter(2.0**power, 0))
        for sign in (1, -1)
    }
)
_SMALL = (-2.5, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5)
ONE_COLUMN: dict[DataType, list[Values]] = TYPES | {
    DOUBLE: [
        *TYPES[DOUBLE],
        *((each,) for each in (*_EDGES, *_SMALL)),
        *((each, each + 0.5) for each in (*_EDGES, *_SMALL)),
        *((-0.5, each) for each in _EDGES if each > 0),
        *((each, 0.5, math.nan) for each in _EDGES if each < 0),
        *((each, None) for each in (1e15, 1e16, -1e15, 9007199254740993.0, 999999.995, 0.005)),
    ],
    FLOAT: [
        *TYPES[FLOAT],
        *((float(2.0**power),) for power in _POWERS),
        *((-(2.0**power), 0.5) for power in _POWERS),
        *((each,) for each in _SMALL),
        *((each, math.nan) for each in (-0.5, 0.5, 2.0**31, -(2.0**63))),
    ],
    BOOLEAN: [(False,), (True,), (False, True), (True, None), (None,)],
}
TARGETS = (BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE, BOOLEAN)
DECIMALS = (decimal(3, 0), decimal(9, 2), decimal(18, 0), decimal(18, 17), decimal(20, 3))
DECIMALS += (decimal(38, 18), decimal(38, 19), decimal(38, 30))


def _casts() -> list[Call]:
    return [
        call("Cast", target, Column(("x",), data_type), mode=mode)
        for data_type in ONE_COLUMN
        for target in (*TARGETS, *DECIMALS)
        if data_type != target
        for mode in ("LEGACY", "ANSI", "TRY")
        if not (data_type == BOOLEAN and mode == "ANSI")
    ]


def _roundings() -> list[Call]:
    calls = [
        call(name, LONG, Column(("x",), data_type))
        for data_type in (DOUBLE, LONG)
        for name in ("Floor", "Ceil")
    ]
    for data_type in (BYTE, INTEGER, LONG, FLOAT, DOUBLE):
        column = Column(("x",), data_type)
        for name in ("Round", "BRound"):
            for scale in (-19, -18, -2, -1, 0, 1, 15, 16):
                calls.append(call(name, data_type, column, scale))
    fraction = Column(("x",), decimal(18, 17))
    calls += [call("Round", decimal(3, 0), fraction, scale) for scale in (0, -1, -2)]
    return calls


@pytest.mark.parametrize("tried", [*_casts(), *_roundings()], ids=lambda each: _full_id(each))
def test_bounds_of_one_column_are_sound_at_the_ends_of_the_type(tried: Call) -> None:
    columns = columns_of(tried)
    table = table_over(columns, [(values,) for values in ONE_COLUMN[columns[0].type]])
    claim = claim_over(tried, table)
    for place, rows in enumerate(table.rows):
        wraps = tried.name == "Cast" and tried.option("evalMode") == "LEGACY"
        reference = _legacy(tried, rows) if wraps else expected(tried, rows)
        assert_sound(tried, claim, place, rows, reference)


def _legacy(tried: Call, rows: Rows) -> Expected:
    """Return the bounds of a cast that wraps around or saturates instead of failing."""
    values = [row_value(tried, row) for row in rows]
    ordinary = [each for each in values if each is not None and each == each]
    nan = any(each is not None and each != each for each in values)
    least, greatest = min(ordinary, default=None), max(ordinary, default=None)
    return Expected(least, greatest, None in values, nan, overflow=False)


def _full_id(tried: Call) -> str:
    scale = tried.arguments[1].value if len(tried.arguments) > 1 else ""  # type: ignore[union-attr]
    return f"{_id(tried)} to {tried.type} {scale}"
