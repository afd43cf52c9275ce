"""Format expressions as Spark SQL text for reasons, explanations and error messages."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Evaluated,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Opaque,
    Or,
    Subdivided,
    Value,
    Within,
    type_of,
)
from tamis.expr.spelling import BETWEEN, NAMES, TYPES
from tamis.expr.types import DataType

__all__ = ["identifier", "to_sql", "value_sql"]

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EPOCH: Final = datetime.datetime(1970, 1, 1)
#: Longer lists are shortened, because the text is for people.
_SHOWN_OPTIONS: Final = 12


def to_sql(expr: Expr) -> str:
    """Return the text of an expression in Spark SQL.

    >>> from tamis.expr.nodes import Comparison
    >>> from tamis.expr.types import DATE
    >>> to_sql(Not(Compare(Comparison.LESS, Column(("s", "ship date"), DATE), Literal(0, DATE))))
    "NOT (s.`ship date` < DATE '1970-01-01')"
    """
    match expr:
        case Literal(value=value, type=data_type):
            return value_sql(value, data_type)
        case Column(path=path):
            return identifier(path)
        case Opaque(sql=sql):
            return sql
        case And(parts=parts):
            return " AND ".join(_operand(part, (Or,)) for part in parts) or "true"
        case Or(parts=parts):
            return " OR ".join(_operand(part, ()) for part in parts) or "false"
        case Not(child=IsNull(child=child)):
            return f"{_operand(child)} IS NOT NULL"
        case Not(child=In() as child):
            return _in_sql(child, "NOT IN")
        case Not(child=child):
            return f"NOT ({to_sql(child)})"
        case IsNull(child=child):
            return f"{_operand(child)} IS NULL"
        case In():
            return _in_sql(expr, "IN")
        case Compare(op=op, left=left, right=right):
            return f"{_operand(left)} {op} {_operand(right)}"
        case Within():
            return _within_sql(expr)
        case Subdivided(predicate=predicate) | Evaluated(predicate=predicate):
            return to_sql(predicate)
        case Call():
            return _call_sql(expr)


def _operand(expr: Expr, looser: tuple[type, ...] = (And, Or, Not, Compare, In, IsNull)) -> str:
    """Return the text, in parentheses if the expression binds more loosely than its context."""
    if isinstance(expr, Evaluated):
        return _operand(expr.predicate, looser)
    return f"({to_sql(expr)})" if isinstance(expr, looser) else to_sql(expr)


def _call_sql(call: Call) -> str:
    """Return the text of a call. A class without an SQL name keeps its class name.

    >>> from tamis.expr.types import LONG, STRING
    >>> day = Call("Cast", (Column(("ts",), LONG),), (("evalMode", "TRY"),), STRING)
    >>> to_sql(Call("Add", (Call("Length", (day,), (), LONG), Literal(1, LONG)), (), LONG))
    'length(TRY_CAST(ts AS STRING)) + 1L'
    """
    arguments = call.arguments
    if call.name == "Cast" and len(arguments) == 1:
        attempt = "TRY_" if ("evalMode", "TRY") in call.options else ""
        return f"{attempt}CAST({to_sql(arguments[0])} AS {_type_sql(call.type)})"
    if call.name in BETWEEN and len(arguments) == 2:
        left, right = (
            f"({to_sql(each)})" if _is_between(each) else _operand(each) for each in arguments
        )
        return f"{left} {BETWEEN[call.name]} {right}"
    if call.name == "UnaryMinus" and len(arguments) == 1:
        return f"-{_operand(arguments[0])}"
    # A user-defined function is "udf:name": no Catalyst class name contains a colon.
    name = NAMES.get(call.name, call.name.removeprefix("udf:"))
    return f"{name}({', '.join(to_sql(each) for each in arguments)})"


def _is_between(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.name in BETWEEN


def _type_sql(data_type: DataType) -> str:
    return TYPES.get(data_type.name, str(data_type).upper())


def _within_sql(expr: Within) -> str:
    column, data_type = identifier(expr.value.path), expr.value.type
    below = "<" if expr.upper_open else "<="
    sides = [
        f"{column} {op} {value_sql(value, data_type)}"
        for op, value in ((">=", expr.lower), (below, expr.upper))
        if value is not None
    ]
    return " AND ".join(sides) or f"{column} IS NOT NULL"


def _in_sql(expr: In, operator: str) -> str:
    data_type = type_of(expr.value)
    shown = [
        repr(option) if data_type is None else value_sql(option, data_type)
        for option in expr.options[:_SHOWN_OPTIONS]
    ]
    if len(expr.options) > _SHOWN_OPTIONS:
        shown.append(f"… {len(expr.options) - _SHOWN_OPTIONS} more")
    if expr.has_null:
        shown.append("NULL")
    return f"{_operand(expr.value)} {operator} ({', '.join(shown)})"


def identifier(path: tuple[str, ...]) -> str:
    """Return a column name, with backticks where necessary.

    >>> identifier(("a", "b.c"))
    'a.`b.c`'
    """
    return ".".join(
        part if _PLAIN.fullmatch(part) else "`" + part.replace("`", "``") + "`" for part in path
    )


def value_sql(value: Value, data_type: DataType) -> str:
    """Return a constant of that type as an SQL literal.

    >>> from tamis.expr.types import LONG, STRING
    >>> value_sql(5, LONG), value_sql("it's", STRING), value_sql(None, LONG)
    ('5L', "'it\\\\'s'", 'NULL')
    """
    if value is None:
        return "NULL"
    try:
        return _WRITERS.get(data_type.name, str)(value)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return repr(value)  # not a value of its type, but the text must not fail because of it


def _string(value: Value) -> str:
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def _floating(suffix: str, type_name: str) -> Callable[[Value], str]:
    def write(value: Value) -> str:
        number = float(value)  # type: ignore[arg-type]
        if math.isnan(number) or math.isinf(number):
            name = "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
            return f"{type_name}('{name}')"
        return f"{number!r}{suffix}"

    return write


def _date(value: Value) -> str:
    days = int(value)  # type: ignore[arg-type]
    try:
        return f"DATE '{(_EPOCH + datetime.timedelta(days=days)).date().isoformat()}'"
    except OverflowError:  # before the year 1 or after 9999
        return f"DATE_FROM_UNIX_DATE({days})"


def _timestamp(keyword: str, zone: str) -> Callable[[Value], str]:
    def write(value: Value) -> str:
        microseconds = int(value)  # type: ignore[arg-type]
        try:
            moment = _EPOCH + datetime.timedelta(microseconds=microseconds)
        except OverflowError:
            return f"TIMESTAMP_MICROS({microseconds})"
        return f"{keyword} '{moment.isoformat(sep=' ')}{zone}'"

    return write


def _decimal(value: Value) -> str:
    return f"{value:f}BD" if isinstance(value, Decimal) else f"{value!s}BD"


_WRITERS: Final[dict[str, Callable[[Value], str]]] = {
    "boolean": lambda value: "true" if value else "false",
    "byte": lambda value: f"{value!s}Y",
    "short": lambda value: f"{value!s}S",
    "long": lambda value: f"{value!s}L",
    "float": _floating("F", "float"),
    "double": _floating("D", "double"),
    "decimal": _decimal,
    "string": _string,
    "binary": lambda value: f"X'{value.hex().upper()}'",  # type: ignore[union-attr]
    "date": _date,
    "timestamp": _timestamp("TIMESTAMP", "Z"),
    "timestamp_ntz": _timestamp("TIMESTAMP_NTZ", ""),
    "day_time_interval": lambda value: f"INTERVAL '{Decimal(int(value)) / 1_000_000:f}' SECOND",  # type: ignore[arg-type]
    "calendar_interval": lambda value: (
        f"make_interval(0, {value.months}, 0, {value.days}, 0, 0, {value.microseconds / 1e6})"  # type: ignore[union-attr]
    ),
    "year_month_interval": lambda value: f"INTERVAL '{value!s}' MONTH",
}
