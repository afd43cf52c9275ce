"""Random calls over a column, sometimes nested, for the laws that hold for every predicate.

One line per function: the type of its argument, its name, the type of its result, and its constant
arguments. Calls in the tables of cases (tests/cases) are drawn too, so a function with a table
needs no line here. The zone is UTC, and the mode is LEGACY or TRY, which row_value implements.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any, TypeVar

from tamis.expr.nodes import Call, Column, Compare, Comparison, Expr, Literal
from tamis.expr.sql import to_sql
from tamis.expr.types import (
    BOOLEAN,
    BYTE,
    DATE,
    DAY_TIME_INTERVAL,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    YEAR_MONTH_INTERVAL,
    DataType,
    decimal,
)

SHORT_DECIMAL, LONG_DECIMAL = decimal(9, 2), decimal(38, 10)
_DAY = 86_400_000_000
_WHOLE = (BYTE, SHORT, INTEGER, LONG)
_NUMBERS = (*_WHOLE, FLOAT, DOUBLE, SHORT_DECIMAL, LONG_DECIMAL)

#: Source -> cast targets. (Java decides the digits of a float as a string, so it is not drawn.)
_CASTS: dict[DataType, tuple[DataType, ...]] = {
    BOOLEAN: (*_NUMBERS, STRING, TIMESTAMP),
    **dict.fromkeys(_WHOLE, (*_NUMBERS, BOOLEAN, STRING, TIMESTAMP)),
    FLOAT: (*_NUMBERS, BOOLEAN),
    DOUBLE: (*_NUMBERS, BOOLEAN, STRING),
    SHORT_DECIMAL: (*_NUMBERS, BOOLEAN, STRING, TIMESTAMP),
    LONG_DECIMAL: (*_NUMBERS, BOOLEAN),
    STRING: (*_NUMBERS, BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ),
    DATE: (TIMESTAMP, TIMESTAMP_NTZ, STRING),
    TIMESTAMP: (*_NUMBERS, BOOLEAN, DATE, TIMESTAMP_NTZ, STRING),
    TIMESTAMP_NTZ: (DATE, TIMESTAMP, STRING),
}

#: Functions that `_one` and `random_test` draw with dedicated code.
_DRAWN_ELSEWHERE = {
    *("Cast", "Add", "Subtract", "Multiply", "Divide", "IntegralDivide", "Remainder", "Pmod"),
    *("Concat", "DateDiff", "SubtractDates", "SubtractTimestamps", "TimestampDiff"),
    *("TimestampAdd", "MonthsBetween", "TimestampAddYMInterval", "TimestampAddInterval"),
    *("TruncTimestamp", "Coalesce", "If", "CaseWhen", "Greatest", "Least"),
    *("StartsWith", "EndsWith", "Contains", "Like", "IsNaN"),
}

Constants = Callable[[Random], tuple[Any, ...]]
T = TypeVar("T")


def _of(*choices: Any) -> Constants:
    return _each([choices])


def _each(choices: Sequence[Sequence[Any]]) -> Constants:
    return lambda random: tuple(random.choice(options) for options in choices)


_NONE = _each([])
_MONTHS, _DAYS = _of(0, 1, -13, 40), _of(0, 1, 31, 366)
_PAD = _each([(-1, 0, 2, 5), ("", "x", "éz")])
_PART = _each([(1, 0, 2, 6, -2), (0, 1, 2, 4)])
_REPLACED = _each([("", "a", "customer"), ("", "b")])

#: Argument, name, result (None: the same type), constants after the argument.
_FUNCTIONS: tuple[tuple[DataType, str, DataType | None, Constants], ...] = (
    *(
        (DATE, name, INTEGER, _NONE)
        for name in [
            "Year",
            "Quarter",
            "Month",
            "DayOfMonth",
            "DayOfYear",
            "DayOfWeek",
            "WeekDay",
            "WeekOfYear",
            "YearOfWeek",
        ]
    ),
    (DATE, "LastDay", DATE, _NONE),
    (DATE, "UnixDate", INTEGER, _NONE),
    (DATE, "NextDay", DATE, _of("MO", "SU")),
    (DATE, "TruncDate", DATE, _of("MM", "YEAR", "QUARTER", "WEEK")),
    (DATE, "DateAdd", DATE, _DAYS),
    (DATE, "DateSub", DATE, _DAYS),
    (DATE, "AddMonths", DATE, _MONTHS),
    *((TIMESTAMP, name, INTEGER, _NONE) for name in ("Hour", "Minute", "Second")),
    *((TIMESTAMP_NTZ, name, INTEGER, _NONE) for name in ("Hour", "Minute", "Second")),
    *((TIMESTAMP, name, LONG, _NONE) for name in ("UnixSeconds", "UnixMillis", "UnixMicros")),
    *(
        (LONG, name, TIMESTAMP, _NONE)
        for name in ("SecondsToTimestamp", "MillisToTimestamp", "MicrosToTimestamp")
    ),
    (INTEGER, "DateFromUnixDate", DATE, _NONE),
    (TIMESTAMP, "FromUTCTimestamp", TIMESTAMP, _of("UTC")),
    (TIMESTAMP, "ToUTCTimestamp", TIMESTAMP, _of("UTC")),
    *((each, "UnaryMinus", None, _NONE) for each in (*_NUMBERS,)),
    *((each, "Abs", None, _NONE) for each in (*_NUMBERS,)),
    *((each, "Round", None, _of(0, -1, -2, 3)) for each in _WHOLE),
    *((each, "BRound", None, _of(0, -1)) for each in _WHOLE),
    (DOUBLE, "Signum", DOUBLE, _NONE),
    *(
        (DOUBLE, name, DOUBLE, _NONE)
        for name in [
            *("Sqrt", "Cbrt", "Exp", "Expm1", "Sinh", "Tanh", "Atan", "Sin", "Cos"),
            *("ToDegrees", "ToRadians", "Log", "Log2", "Log10", "Log1p"),
        ]
    ),
    (DOUBLE, "Pow", DOUBLE, _of(2.0, 3.0, 0.5, -1.0, -2.0)),
    *(
        (STRING, name, STRING, _NONE)
        for name in ["Upper", "StringTrim", "StringTrimLeft", "StringTrimRight", "Reverse"]
    ),
    *((STRING, name, INTEGER, _NONE) for name in ("Length", "OctetLength", "BitLength")),
    (STRING, "Substring", STRING, _PART),
    (STRING, "StringLPad", STRING, _PAD),
    (STRING, "StringRPad", STRING, _PAD),
    (STRING, "StringRepeat", STRING, _of(0, 2)),
    (STRING, "StringReplace", STRING, _REPLACED),
    (STRING, "StringInstr", INTEGER, _of("", "a", "é")),
)


def random_call(random: Random, column: Column) -> Expr | None:
    """Return a call with a comparable value; None if there is none for the type of the column."""
    call = _one(random, column, column.type)
    while isinstance(call, Call) and random.random() < 0.3:
        outer = _one(random, call, call.type)
        if outer is None:
            break
        call = outer
    return call


def _one(random: Random, argument: Expr, data_type: DataType) -> Expr | None:
    kind = random.random()
    if kind < 0.15:
        return _choice(random, argument, data_type)
    if kind < 0.4 and data_type in _CASTS:
        options = (("timeZoneId", "UTC"), ("evalMode", random.choice(["LEGACY", "TRY"])))
        return Call("Cast", (argument,), options, random.choice(_CASTS[data_type]))
    special = _of_two(random, argument, data_type)
    if special is not None and random.random() < 0.4:
        return special
    fitting = [each for each in _FUNCTIONS if each[0] == data_type]
    of_tables = calls_of_tables().get(data_type, ())
    if of_tables and (not fitting or random.random() < 0.2):
        return over(_chosen(random, of_tables, _name_of), argument)
    if not fitting:
        return special
    _, name, result, constants = _chosen(random, fitting, lambda each: f"{each[1]} {each[2]}")
    return _call(name, result or data_type, argument, *map(_literal, constants(random)))


def _chosen(random: Random, options: Sequence[T], name_of: Callable[[T], str]) -> T:
    """Choose one of the options: the one whose name ranks first for a random number.

    In contrast to `random.choice`, a new option leaves all choices but those that fall on it. This
    is rendezvous hashing (Thaler and Ravishankar, 1998).
    """
    seed = random.getrandbits(64)
    return max(options, key=lambda each: (_hashed(name_of(each)) ^ seed) * _ODD % 2**64)


_ODD = 0x9E3779B97F4A7C15


@cache
def _hashed(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8])


@cache
def _name_of(call: Call) -> str:
    return f"{to_sql(call)} {call.type} {call.options}"


@cache
def calls_of_tables() -> dict[DataType, tuple[Call, ...]]:
    """Return the calls in the tables of cases, by the type of their only column.

    Calls of functions that have a line above are omitted: the line draws their constants.
    """
    from tests.cases.tables import CASES  # imported here because they import this module

    listed = {name for _, name, _, _ in _FUNCTIONS} | _DRAWN_ELSEWHERE
    calls_of: dict[DataType, dict[Call, None]] = {}
    for case in CASES:
        for predicate in (*case.hits, *case.misses, *case.full):
            for call in calls_in(predicate):
                columns = [each for each in call.arguments if isinstance(each, Column)]
                nested = any(isinstance(each, Call) for each in call.arguments)
                if call.name not in listed and len(columns) == 1 and not nested:
                    calls_of.setdefault(columns[0].type, {})[call] = None
    return {data_type: tuple(calls) for data_type, calls in calls_of.items()}


def calls_in(node: Any) -> Iterator[Call]:
    """Yield every call in an expression, outer calls first."""
    if isinstance(node, Call):
        yield node
    if isinstance(node, tuple):
        for each in node:
            yield from calls_in(each)
    elif is_dataclass(node) and not isinstance(node, type):
        for field in fields(node):
            yield from calls_in(getattr(node, field.name))


def over(call: Call, argument: Expr) -> Call:
    """Return the call with another argument in place of its column."""
    arguments = (argument if isinstance(each, Column) else each for each in call.arguments)
    return replace(call, arguments=tuple(arguments))


def _literal(value: Any) -> Literal:
    types: dict[type, DataType] = {int: INTEGER, float: DOUBLE, str: STRING, bool: BOOLEAN}
    return Literal(value, types[type(value)])


def _call(name: str, data_type: DataType, *arguments: Expr, **options: str) -> Call:
    settings = {"timeZoneId": "UTC", "evalMode": "LEGACY", **options}
    return Call(name, arguments, tuple(settings.items()), data_type)


def _of_two(random: Random, argument: Expr, data_type: DataType) -> Expr | None:
    """Draw functions of two values of a type; the argument is on either side."""
    if data_type.is_integral:
        names = ("Add", "Subtract", "Multiply", "Remainder", "Pmod", "IntegralDivide")
        name = random.choice(names)
        number = Literal(random.choice([1, 2, 7, -3, 100]), data_type)
        return _sides(
            random, name, LONG if name == "IntegralDivide" else data_type, argument, number
        )
    if data_type == DOUBLE:
        name = random.choice(("Add", "Subtract", "Multiply", "Divide", "Remainder", "Pmod"))
        number = Literal(random.choice([0.5, -2.0, 3.0]), data_type)
        return _sides(random, name, data_type, argument, number)
    if data_type == SHORT_DECIMAL:
        name = random.choice(("Add", "Subtract", "Remainder", "Pmod"))
        number = Literal(Decimal(random.choice([1, -2, 7])), data_type)
        result = decimal(10, 2) if name in ("Add", "Subtract") else data_type
        return _sides(random, name, result, argument, number)
    if data_type == STRING:
        text = _literal(random.choice(["", "b", "é", "\U0010ffff", "a", "-"]))
        return _sides(random, "Concat", STRING, argument, text)
    if data_type == DATE:
        day = Literal(random.choice([-1, 0, 19_781, 19_797]), DATE)
        name, result = random.choice([("DateDiff", INTEGER), ("SubtractDates", DAY_TIME_INTERVAL)])
        return _sides(random, name, result, argument, day)
    if data_type in (TIMESTAMP, TIMESTAMP_NTZ):
        return _of_moments(random, argument, data_type)
    return None


def _sides(random: Random, name: str, result: DataType, x: Expr, y: Expr) -> Call:
    return _call(name, result, *((x, y) if random.random() < 0.7 else (y, x)))


def _of_moments(random: Random, argument: Expr, data_type: DataType) -> Call:
    moment = Literal(random.choice([-_DAY, 0, 1, 19_781 * _DAY + 5]), data_type)
    unit = random.choice(
        ["MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"]
    )
    match random.randrange(7 if data_type == TIMESTAMP else 6):
        case 0:
            return _sides(random, "SubtractTimestamps", DAY_TIME_INTERVAL, argument, moment)
        case 1:
            pair = [argument, moment]
            random.shuffle(pair)
            return _call("TimestampDiff", LONG, *pair, unit=unit)
        case 2:
            count = Literal(random.choice([0, 1, -25]), INTEGER)
            return _call("TimestampAdd", data_type, count, argument, unit=unit)
        case 3:
            pair = [argument, moment]
            random.shuffle(pair)
            return _call("MonthsBetween", DOUBLE, *pair, _literal(random.random() < 0.5))
        case 4:
            months = Literal(random.choice([0, 1, -13]), YEAR_MONTH_INTERVAL)
            return _call("TimestampAddYMInterval", data_type, argument, months)
        case 5:
            micros = Literal(random.choice([0, 1, -3 * _DAY - 7]), DAY_TIME_INTERVAL)
            return _call("TimestampAddInterval", data_type, argument, micros)
        case _:
            return _call(
                "TruncTimestamp", TIMESTAMP, _literal(unit_of_truncation(random)), argument
            )


def unit_of_truncation(random: Random) -> str:
    """Return a unit of date_trunc that row_value computes from 1970 on."""
    return random.choice(["SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "QUARTER", "YEAR"])


def _choice(random: Random, argument: Expr, data_type: DataType) -> Call:
    name = random.choice(("Coalesce", "If", "CaseWhen", "Greatest", "Least"))
    if name in ("If", "CaseWhen"):
        condition = Compare(random.choice(list(Comparison)), argument, argument)
        branches = (condition, argument) if name == "CaseWhen" else (condition, argument, argument)
        return _call(name, data_type, *branches)
    return _call(name, data_type, argument, argument)


def random_test(random: Random, column: Column) -> Expr | None:
    """Return a call that is itself a predicate."""
    if column.type == STRING:
        name = random.choice(("StartsWith", "EndsWith", "Contains", "Like"))
        text = random.choice(["", "a", "customer#0", "\U0010ffff", "2024-"])
        if name == "Like":
            text = random.choice(["a%", "%a", "_%", "%b%", "customer#%2", "2024-0_-%", "%"])
        return _call(name, BOOLEAN, column, Literal(text, STRING), escapeChar="\\")
    return _call("IsNaN", BOOLEAN, column) if column.type.is_floating else None
