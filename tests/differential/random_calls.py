"""Random calls over a column, for the laws that hold of every predicate."""

from __future__ import annotations

from random import Random

from tamis.expr.nodes import Call, Column, Compare, Comparison, Expr, Literal
from tamis.expr.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
)

_PARTS = ("Year", "Quarter", "Month", "DayOfMonth", "DayOfYear", "DayOfWeek", "WeekDay")
_LEGACY = (("evalMode", "LEGACY"),)
_UTC = (("timeZoneId", "UTC"), ("evalMode", "LEGACY"))


def random_call(random: Random, column: Column) -> Expr | None:
    """A call whose value can be compared; None where there is none for the type of the column."""
    data_type = column.type
    if random.random() < 0.2:
        return _choice(random, column)
    if data_type == DATE:
        return _of_date(random, column)
    if data_type == TIMESTAMP:
        if random.random() < 0.5:
            return _call("UnixSeconds", LONG, column)
        if random.random() < 0.5:
            return _of_date(random, Call("Cast", (column,), _UTC, DATE))
        return Call(random.choice(("Hour", "Minute", "Second")), (column,), _UTC, INTEGER)
    if data_type in (INTEGER, LONG):
        name = random.choice(("Add", "Subtract", "Multiply", "Remainder", "Pmod", "UnaryMinus"))
        if name == "UnaryMinus":
            return _call(name, data_type, column)
        number = Literal(random.choice([1, 2, 7, 1 << 20]), data_type)
        return Call(name, (column, number), _LEGACY, data_type)
    if data_type == DOUBLE:
        name = random.choice(("Add", "Subtract", "Multiply", "Divide", "Signum", "Abs"))
        number = Literal(random.choice([0.5, -2.0, 3.0]), data_type)
        arguments = (column,) if name in ("Signum", "Abs") else (column, number)
        return Call(name, arguments, _LEGACY, data_type)
    return _of_string(random, column) if data_type == STRING else None


def _call(name: str, data_type: DataType, *arguments: Expr) -> Call:
    return Call(name, arguments, (), data_type)


def _of_date(random: Random, column: Expr) -> Call:
    name = random.choice((*_PARTS, "WeekOfYear", "LastDay", "TruncDate", "DateAdd", "DateSub"))
    if name == "TruncDate":
        return _call(name, DATE, column, Literal(random.choice(("MM", "YEAR")), STRING))
    if name in ("DateAdd", "DateSub"):
        return _call(name, DATE, column, Literal(random.choice([0, 1, 31, 366]), INTEGER))
    return _call(name, DATE if name == "LastDay" else INTEGER, column)


def _of_string(random: Random, column: Column) -> Call:
    name = random.choice(("Substring", "Concat", "Length", "Upper", "StringTrim"))
    if name == "Substring":
        numbers = (Literal(1, INTEGER), Literal(random.choice([0, 1, 2]), INTEGER))
        return _call(name, STRING, column, *numbers)
    if name == "Concat":
        parts: list[Expr] = [column, Literal(random.choice(["", "b", "\U0010ffff"]), STRING)]
        random.shuffle(parts)
        return _call(name, STRING, *parts)
    return _call(name, INTEGER if name == "Length" else STRING, column)


def _choice(random: Random, column: Column) -> Call:
    name = random.choice(("Coalesce", "If", "CaseWhen", "Greatest", "Least"))
    if name in ("If", "CaseWhen"):
        condition = Compare(random.choice(list(Comparison)), column, column)
        branches = (condition, column) if name == "CaseWhen" else (condition, column, column)
        return _call(name, column.type, *branches)
    return _call(name, column.type, column, column)


def random_test(random: Random, column: Column) -> Expr | None:
    """A call that is a predicate itself."""
    if column.type == STRING:
        name = random.choice(("StartsWith", "EndsWith", "Contains"))
        text = random.choice(["", "a", "customer#0", "\U0010ffff"])
        return _call(name, BOOLEAN, column, Literal(text, STRING))
    return _call("IsNaN", BOOLEAN, column) if column.type.is_floating else None
