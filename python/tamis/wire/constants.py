"""Constants of expression documents (see wire.catalyst) in the form of Literal.value."""

from __future__ import annotations

import base64
import binascii
import math
from decimal import Decimal, InvalidOperation
from typing import Final

from tamis.expr.decimals import unscaled
from tamis.expr.nodes import CalendarInterval, Value
from tamis.expr.types import BOOLEAN, DataType

__all__ = [
    "NotUnderstoodError",
    "constant",
    "optional",
    "plain_constant",
    "require",
    "value_of",
    "values_of",
]


class NotUnderstoodError(ValueError):
    """A node has a form or a type that is not understood."""


def require(condition: bool) -> None:
    """Raise NotUnderstoodError unless the condition holds."""
    if not condition:
        raise NotUnderstoodError


_SPECIAL_FLOATS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def value_of(value: object, data_type: DataType) -> Value:
    """Return a constant in the form of Literal.value.

    Raises:
        NotUnderstoodError: The constant is not a value of the type.
    """
    if value is None:
        return None
    try:
        return _ordinary_value(value, data_type)
    except (ValueError, OverflowError, InvalidOperation, ArithmeticError) as error:
        raise NotUnderstoodError from error


def values_of(values: list[object], data_type: DataType) -> tuple[Value, ...]:
    """Return several constants in the form of Literal.value. Raises as value_of does.

    A list of integers is checked by its extremes.
    """
    classes = set(map(type, values))
    if classes == {int} and data_type.is_discrete and not data_type.is_decimal:
        for extreme in (min(values), max(values)):  # type: ignore[type-var]
            value_of(extreme, data_type)  # integers between two values of the type are values too
        return tuple(values)  # type: ignore[arg-type]
    return tuple(value_of(value, data_type) for value in values)


def _ordinary_value(value: object, data_type: DataType) -> Value:
    match data_type.name, value:
        case "boolean", bool():
            return value
        case "float" | "double", str() if value in _SPECIAL_FLOATS:
            return _SPECIAL_FLOATS[value]
        case "float" | "double", int() | float() if not isinstance(value, bool):
            return float(value)
        case "decimal", str():
            return _decimal(Decimal(value), data_type)
        case "string", str():
            value.encode()  # raises for a lone surrogate, which is not a character
            return value
        case "calendar_interval", [int(months), int(days), int(micros)]:
            require(all(-(1 << 31) <= each < 1 << 31 for each in (months, days)))
            require(-(1 << 63) <= micros < 1 << 63)
            return CalendarInterval(months, days, micros)
        case "binary", str():
            try:
                return base64.b64decode(value, validate=True)
            except binascii.Error as error:
                raise ValueError from error
        case _, int() if data_type.is_discrete and not data_type.is_decimal:
            least, greatest = data_type.domain
            if not isinstance(value, bool) and data_type != BOOLEAN and least <= value <= greatest:
                return value
    raise NotUnderstoodError


def _decimal(value: Decimal, data_type: DataType) -> Decimal:
    assert data_type.scale is not None
    assert data_type.precision is not None
    # Check the exponent first, because 1E+999999999 is short but takes long to multiply out.
    require(value.is_finite() and abs(value.adjusted()) <= 2 * data_type.precision)
    require(abs(unscaled(value, data_type.scale)) < 10**data_type.precision)
    return value


def constant(value: Value) -> int | str:
    """Return a bound as a constant of a document: integers as numbers, others as text."""
    if isinstance(value, Decimal):
        return format(value, "f")
    assert isinstance(value, int | str)
    return value


def plain_constant(value: Value) -> bool | int | float | str | None:
    """Return a value as a constant of a document. It must be neither NaN nor an interval.

    >>> plain_constant(Decimal("1E+2")), plain_constant(b"a"), plain_constant(-math.inf)
    ('100', 'YQ==', '-Infinity')
    """
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    assert value is None or isinstance(value, bool | int | float | str)
    return value


def optional(value: Value) -> int | str | None:
    """Return a bound as a constant of a document, or None if there is no bound."""
    return None if value is None else constant(value)
