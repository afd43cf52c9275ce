"""A value of the files against a constant of any type on its line, without rounding.

DuckDB casts a column to the type of the constant: `i > 5.5` is CAST(i AS DECIMAL(11,1)) > 5.5. As
the cast keeps the value (see types), the constant can be brought to the column instead. For whole
numbers v and a constant c between two of them, or beyond all of them:

    v < c    v < ⌈c⌉              v = c    in no row: NULL where v is NULL, else false
    v <= c   v <= ⌊c⌋             v <> c   in every row but for NULL
    v > c    v > ⌊c⌋              v <=> c  false
    v >= c   v >= ⌈c⌉

A constant beyond all values of the type, NaN included, is above or below every one of them.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from tamis.expr.decimals import from_unscaled
from tamis.expr.nodes import And, Compare, Comparison, Expr, In, IsNull, Literal, Not, Or, Value
from tamis.expr.rewrites import FALSE, NULL
from tamis.expr.types import DOUBLE
from tamis.wire.duckdb.constants import ConstantValue
from tamis.wire.duckdb.document import NotUnderstood, require
from tamis.wire.duckdb.types import LogicalType

__all__ = ["Term", "against", "among", "literal", "never"]


@dataclass(frozen=True, slots=True)
class Term:
    """An expression whose values are of the type `source`; the document has them cast to `type`."""

    expr: Expr
    source: LogicalType
    type: LogicalType


def never(expr: Expr) -> Expr:
    """False where the expression has a value, NULL where it is NULL."""
    return And((IsNull(expr), NULL))


def _always(expr: Expr) -> Expr:
    """True where the expression has a value, NULL where it is NULL."""
    return Or((Not(IsNull(expr)), NULL))


def against(op: Comparison, term: Term, constant: ConstantValue) -> Expr:
    """`term op constant`; the constant is on the line of the term, which is no TIMESTAMP_NS."""
    if constant is None:
        return Compare(op, term.expr, Literal(None, term.source.data_type))
    step = term.source.step
    if step is None:
        return Compare(op, term.expr, literal(constant, term.source))
    whole, position = _position(constant, step, term.source)
    if position is not None:
        return _beyond(op, term.expr, position)
    if whole.denominator == 1:
        return Compare(op, term.expr, _stored(int(whole), term.source))
    match op:
        case Comparison.EQUAL:
            return never(term.expr)
        case Comparison.NOT_EQUAL:
            return _always(term.expr)
        case Comparison.NULL_SAFE_EQUAL:
            return FALSE
        case Comparison.LESS | Comparison.GREATER_EQUAL:
            nearest = math.ceil(whole)
        case Comparison.LESS_EQUAL | Comparison.GREATER:
            nearest = math.floor(whole)
    return Compare(op, term.expr, _stored(nearest, term.source))


def among(term: Term, constants: Iterable[ConstantValue]) -> Expr:
    """`term IN (constants)`."""
    options: list[Value] = []
    has_null = False
    for constant in constants:
        if constant is None:
            has_null = True
            continue
        equal = against(Comparison.EQUAL, term, constant)
        # What is not an equality equals no value; nor does a DOUBLE that is no FLOAT equal one.
        match equal:
            case Compare(right=Literal(value=value, type=data_type)) if (
                data_type == term.source.data_type
            ):
                options.append(value)
    if not options and not has_null:
        return never(term.expr)
    return In(term.expr, tuple(options), has_null)


def literal(constant: ConstantValue, data_type: LogicalType) -> Literal:
    """A constant as a value of that type; NotUnderstood if it is none of its values."""
    if constant is None:
        return Literal(None, data_type.data_type)
    step = data_type.step
    if step is not None:
        whole, position = _position(constant, step, data_type)
        require(position is None and whole.denominator == 1)
        return _stored(int(whole), data_type)
    if data_type.is_floating:
        number = _floating(constant)
        return Literal(number, data_type.data_type if _is_float(number) else DOUBLE)
    if isinstance(constant, Fraction | float):
        raise NotUnderstood
    return Literal(constant, data_type.data_type)


def _is_float(number: float) -> bool:
    """Whether it is one of the values of FLOAT."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return False
    return rounded == number or number != number


def _floating(constant: ConstantValue) -> float:
    """The constant as a DOUBLE, if there is one that equals it."""
    if isinstance(constant, Fraction):
        try:
            nearest = float(constant)
        except OverflowError as error:
            raise NotUnderstood from error
        require(Fraction(nearest) == constant)
        return nearest
    if not isinstance(constant, float):
        raise NotUnderstood
    return constant


def _position(
    constant: ConstantValue, step: Fraction, data_type: LogicalType
) -> tuple[Fraction, int | None]:
    """The constant in steps; and 1 or -1 where it lies above or below every value of the type."""
    if isinstance(constant, float):
        if constant != constant or constant == math.inf:
            return Fraction(0), 1
        if constant == -math.inf:
            return Fraction(0), -1
        constant = Fraction(constant)
    if not isinstance(constant, Fraction):
        raise NotUnderstood
    whole = constant / step
    least, greatest = data_type.range
    return whole, 1 if whole > greatest else -1 if whole < least else None


def _beyond(op: Comparison, expr: Expr, position: int) -> Expr:
    match op:
        case Comparison.NULL_SAFE_EQUAL:
            return FALSE
        case Comparison.NOT_EQUAL:
            return _always(expr)
        case Comparison.LESS | Comparison.LESS_EQUAL if position > 0:
            return _always(expr)
        case Comparison.GREATER | Comparison.GREATER_EQUAL if position < 0:
            return _always(expr)
        case _:
            return never(expr)


def _stored(whole: int, data_type: LogicalType) -> Literal:
    """The literal that a whole number of steps is."""
    stored = data_type.data_type
    if not stored.is_decimal:
        return Literal(whole, stored)
    # Numbers of 128 bits may have a digit more than any decimal.
    require(abs(whole) < 10**38)
    return Literal(from_unscaled(whole, stored.scale or 0), stored)
