"""Compare a value of the files with a constant of any type on its line, without rounding.

DuckDB casts a column to the type of the constant: `i > 5.5` is CAST(i AS DECIMAL(11,1)) > 5.5. The
cast keeps the value (see types), so the constant can be converted to the column's type instead. For
integers v and a constant c between two of them (the right column also if c is beyond all of them):

    v < c    v < ⌈c⌉              v = c    false, or NULL where v is NULL
    v <= c   v <= ⌊c⌋             v <> c   true, or NULL where v is NULL
    v > c    v > ⌊c⌋              v <=> c  false
    v >= c   v >= ⌈c⌉

A constant beyond all values of the type, including NaN, is above or below all of them.
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
    """An expression whose values have the type `source`, and are cast to `type` in the document."""

    expr: Expr
    source: LogicalType
    type: LogicalType


def never(expr: Expr) -> Expr:
    """Return a predicate that is false where the expression has a value, NULL where it is NULL."""
    return And((IsNull(expr), NULL))


def _always(expr: Expr) -> Expr:
    """Return a predicate that is true where the expression has a value, NULL where it is NULL."""
    return Or((Not(IsNull(expr)), NULL))


def against(op: Comparison, term: Term, constant: ConstantValue) -> Expr:
    """Return `term op constant`. Both are on the same line, and the term is not a TIMESTAMP_NS."""
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
    """Return `term IN (constants)`."""
    options: list[Value] = []
    has_null = False
    for constant in constants:
        if constant is None:
            has_null = True
            continue
        equal = against(Comparison.EQUAL, term, constant)
        # If this is not an equality, the constant equals no value. A DOUBLE that is not a value of
        # FLOAT does not equal a FLOAT either.
        match equal:
            case Compare(right=Literal(value=value, type=data_type)) if (
                data_type == term.source.data_type
            ):
                options.append(value)
    if not options and not has_null:
        return never(term.expr)
    return In(term.expr, tuple(options), has_null)


def literal(constant: ConstantValue, data_type: LogicalType) -> Literal:
    """Return a constant as a literal of that type.

    A floating-point constant that is not a value of FLOAT becomes a DOUBLE.

    Raises:
        NotUnderstood: The constant is not a value of the type.
    """
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
    """Return whether the number is a value of FLOAT."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return False
    return rounded == number or number != number


def _floating(constant: ConstantValue) -> float:
    """Return the DOUBLE that equals the constant, or raise NotUnderstood if there is none."""
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
    """Return the constant in steps, and 1 or -1 if it is above or below all values of the type."""
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
    """Return an integer number of steps as a literal."""
    stored = data_type.data_type
    if not stored.is_decimal:
        return Literal(whole, stored)
    # Integers of 128 bits may have one digit more than any decimal.
    require(abs(whole) < 10**38)
    return Literal(from_unscaled(whole, stored.scale or 0), stored)
