"""Comparisons, BETWEEN and IN, depending on their operands.

    a column, a constant              exact: the constant is converted to the column's type
    a column, a column                if both are stored in one form, whatever their casts are
    TIMESTAMP_NS                      nanoseconds: between two predicates that can be evaluated
    CAST(timestamp AS DATE), a date   a range of timestamps
    a predicate, a predicate          as values: (a = 5) IS NOT DISTINCT FROM true

DuckDB orders values as Spark does: NaN is the greatest number and equals itself, text compares as
UTF-8 bytes, -0.0 = 0.0, and a comparison with NULL is NULL, except IS [NOT] DISTINCT FROM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from tamis.expr.nodes import And, Compare, Comparison, Expr, IsNull, Literal, Not, Or
from tamis.expr.types import TIMESTAMP_NTZ
from tamis.wire.duckdb import nanoseconds
from tamis.wire.duckdb.constant_comparisons import Term, against, among, literal
from tamis.wire.duckdb.constants import ConstantValue
from tamis.wire.duckdb.document import NotUnderstood, require
from tamis.wire.duckdb.types import MICROSECONDS_PER_DAY, Line, LogicalType

__all__ = ["Constant", "Day", "Operand", "compare", "expr_of_type", "is_in", "is_null", "text_of"]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant, as a value on the line of its type."""

    value: ConstantValue
    type: LogicalType


@dataclass(frozen=True, slots=True)
class Day:
    """The day of a TIMESTAMP, rounded down, also before 1970."""

    expr: Expr

    @property
    def type(self) -> LogicalType:
        return LogicalType("DATE")


Operand: TypeAlias = Term | Constant | Day


def compare(op: Comparison, left: Operand, right: Operand) -> Expr:
    """Return the expression `left op right`.

    Raises:
        NotUnderstood: Its meaning is not certain.
    """
    require(_are_of_one_type(left, right))
    if isinstance(left, Constant) and not isinstance(right, Constant):
        return compare(op.swapped, right, left)
    if isinstance(right, Constant):
        return _against(op, left, right.value)
    if not (isinstance(left, Term) and isinstance(right, Term)):
        raise NotUnderstood
    if "TIMESTAMP_NS" in (left.source.id, right.source.id):
        require("DATE" not in (left.source.id, right.source.id))
        return nanoseconds.compare(op, left.expr, right.expr)
    require(_are_held_alike(left.source, right.source))
    return Compare(op, left.expr, right.expr)


def _are_of_one_type(left: Operand, right: Operand) -> bool:
    """Return whether both sides are comparable as they are.

    DuckDB casts both sides to one type. Exact numbers compare the same without the cast.
    """
    if left.type.line is None or left.type.line is not right.type.line:
        return False
    if left.type.line is Line.NUMBER and not (left.type.is_floating or right.type.is_floating):
        return True
    return left.type == right.type


def _are_held_alike(left: LogicalType, right: LogicalType) -> bool:
    if left.data_type == right.data_type:
        return True
    if left.data_type.is_decimal and right.data_type.is_decimal:
        return left.step == right.step and left.data_type.is_discrete == right.data_type.is_discrete
    return (left.data_type.is_integral and right.data_type.is_integral) or (
        left.is_floating and right.is_floating
    )


def _against(op: Comparison, left: Operand, value: ConstantValue) -> Expr:
    match left:
        case Constant(value=other, type=data_type):
            return Compare(
                op,
                literal(other, data_type),
                literal(value, data_type),
            )
        case Day(expr=expr):
            return _day_against(op, expr, value)
        case Term(expr=expr, source=LogicalType(id="TIMESTAMP_NS")) if value is not None:
            if not isinstance(value, Fraction):
                raise NotUnderstood
            return nanoseconds.compare(op, expr, value)
    _require_finite(left, value)
    return against(op, left, value)


def _require_finite(term: Term, value: ConstantValue) -> None:
    """Raise NotUnderstood for an infinite constant if the term is a date cast to a timestamp.

    An infinite date is also infinite as a timestamp, but its number of days is a finite time there.
    """
    if term.source.id == "DATE" and term.type.id != "DATE" and isinstance(value, Fraction):
        require(abs(value) < (1 << 63) - 1)


#: Days within the range of finite timestamps. The day of an infinite timestamp is infinite.
_FINITE_DAYS = (1 << 63) // MICROSECONDS_PER_DAY - 1


def _day_against(op: Comparison, expr: Expr, value: ConstantValue) -> Expr:
    """Return ⌊v⌋ op c in days: ⌊v⌋ < c if and only if v < c, ⌊v⌋ <= c if and only if v < c + 1."""
    if value is None:
        return Compare(op, expr, Literal(None, TIMESTAMP_NTZ))
    if not isinstance(value, Fraction):
        raise NotUnderstood
    start = int(value)
    require(abs(start) < _FINITE_DAYS * MICROSECONDS_PER_DAY)
    at = Literal(start, TIMESTAMP_NTZ)
    after = Literal(start + MICROSECONDS_PER_DAY, TIMESTAMP_NTZ)
    within = And(
        (
            Compare(Comparison.GREATER_EQUAL, expr, at),
            Compare(Comparison.LESS, expr, after),
        )
    )
    match op:
        case Comparison.EQUAL:
            return within
        case Comparison.NOT_EQUAL:
            return Not(within)
        case Comparison.NULL_SAFE_EQUAL:
            return And((Not(IsNull(expr)), *within.parts))
        case Comparison.LESS | Comparison.GREATER_EQUAL:
            return Compare(op, expr, at)
        case Comparison.LESS_EQUAL:
            return Compare(Comparison.LESS, expr, after)
        case Comparison.GREATER:
            return Compare(Comparison.GREATER_EQUAL, expr, after)


def is_in(value: Operand, options: Sequence[Operand]) -> Expr:
    """Return `value IN (options)`, which equals `value = o1 OR value = o2 …`, including NULLs."""
    require(len(options) > 0)
    constants = [each for each in options if isinstance(each, Constant)]
    if not isinstance(value, Term) or len(constants) < len(options):
        parts = tuple(compare(Comparison.EQUAL, value, option) for option in options)
        return parts[0] if len(parts) == 1 else Or(parts)
    require(all(_are_of_one_type(value, each) for each in constants))
    if value.source.id != "TIMESTAMP_NS":
        for each in constants:
            _require_finite(value, each.value)
        return among(value, [each.value for each in constants])
    times = tuple(each.value for each in constants if isinstance(each.value, Fraction))
    return nanoseconds.among(value.expr, times, any(each.value is None for each in constants))


def is_null(operand: Operand) -> Expr:
    if isinstance(operand, Constant):
        return IsNull(literal(operand.value, operand.type))
    return IsNull(operand.expr)


def expr_of_type(operand: Operand, data_type: LogicalType) -> Expr:
    """Return the operand as an expression whose values also have that type in the files."""
    require(operand.type == data_type)
    match operand:
        case Constant(value=value):
            return literal(value, data_type)
        case Term(expr=expr, source=source) if source == data_type:
            return expr
    raise NotUnderstood


def text_of(operand: Operand) -> Expr:
    """Return the operand as text in binary order."""
    return expr_of_type(operand, LogicalType("VARCHAR"))
