"""The type in which DuckDB compares two operands, and casts that DuckDB and Spark perform alike.

    integers, decimals           compared exactly, if a DECIMAL of 38 digits holds both types
    FLOAT and DOUBLE             as DOUBLE
    integer and floating         as the floating type, if it holds every value of the integer type
    BIGINT and DOUBLE            as DOUBLE, rounded to even: both systems do so
    DATE and TIMESTAMP, _S, …    as the finer type
    others                       only if the types are equal

DuckDB converts text, booleans and decimals in ways of its own. Such operands are not understood.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Final

from tamis.expr.nodes import Call, Expr
from tamis.wire.duckdb.comparisons import Constant, Operand, expr_of_type
from tamis.wire.duckdb.constant_comparisons import Term
from tamis.wire.duckdb.document import NotUnderstood
from tamis.wire.duckdb.types import Line, LogicalType, keeps_value

__all__ = ["ANSI", "SIGNED", "aligned", "cast", "is_null_constant", "signed"]

#: Overflow is an error, in DuckDB and in Spark's ANSI mode.
ANSI: Final = (("evalMode", "ANSI"),)

#: Signed integers, from narrow to wide.
SIGNED: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_DIGITS: Final = {
    "TINYINT": 3,
    "UTINYINT": 3,
    "SMALLINT": 5,
    "USMALLINT": 5,
    "INTEGER": 10,
    "UINTEGER": 10,
    "BIGINT": 19,
    "UBIGINT": 20,
}
_MOST_DIGITS: Final = 38
_LONGS: Final = ("BIGINT", "UBIGINT")
_DOUBLE: Final = LogicalType("DOUBLE")


def aligned(operands: list[Operand]) -> list[Operand]:
    """Return operands as values of one type, or of exact numeric types that are comparable.

    Raises:
        NotUnderstood: DuckDB converts an operand in a way that is not reproduced.
    """
    typed = [each.type for each in operands if not is_null_constant(each)]
    if not typed:
        return operands
    common = typed[0]
    for data_type in typed[1:]:
        common = _common(common, data_type)
    if common.line is Line.NUMBER and not common.is_floating:
        _check_digits(typed)
        return [_null_of(each, common) for each in operands]
    return [_as(each, common) for each in operands]


def is_null_constant(operand: Operand) -> bool:
    """Return whether the operand is NULL, of whatever type."""
    return isinstance(operand, Constant) and operand.value is None


def _null_of(operand: Operand, data_type: LogicalType) -> Operand:
    return Constant(None, data_type) if is_null_constant(operand) else operand


def _common(left: LogicalType, right: LogicalType) -> LogicalType:
    if left == right and left.line is not None:
        return left
    if left.line is not None and left.line is right.line:
        if left.line is Line.NUMBER:
            return _common_number(left, right)
        for narrow, wide in ((left, right), (right, left)):
            if left.line is Line.CALENDAR and keeps_value(narrow, wide):
                return wide
    raise NotUnderstood(f"comparisons of {left.id} with {right.id} are not supported")


def _common_number(left: LogicalType, right: LogicalType) -> LogicalType:
    if left.is_floating and right.is_floating:
        return _DOUBLE
    if not (left.is_floating or right.is_floating):
        # Only the line of the type matters: see _check_digits.
        return left
    floating, other = (left, right) if left.is_floating else (right, left)
    if other.id == "DECIMAL" or not (
        keeps_value(other, floating) or (floating == _DOUBLE and other.id == "BIGINT")
    ):
        raise NotUnderstood(f"comparing {other.id} with {floating.id} rounds values")
    return floating


def _check_digits(exact: list[LogicalType]) -> None:
    """Raise NotUnderstood if DuckDB's common type cannot hold all values: then it may fail."""
    if all(each == exact[0] for each in exact) or not any(each.id == "DECIMAL" for each in exact):
        return
    if max(map(_whole_digits, exact)) + max(each.scale or 0 for each in exact) > _MOST_DIGITS:
        raise NotUnderstood("no DECIMAL type can hold all digits of the operands")


def _whole_digits(exact: LogicalType) -> int:
    if exact.id == "DECIMAL":
        return (exact.width or 0) - (exact.scale or 0)
    return _DIGITS.get(exact.id, _MOST_DIGITS)


def _as(operand: Operand, target: LogicalType) -> Operand:
    if is_null_constant(operand):
        return Constant(None, target)
    if operand.type == target:
        return operand
    return cast(operand, target)


def cast(operand: Operand, target: LogicalType) -> Operand:
    """Return a throwing cast of an operand.

    Raises:
        NotUnderstood: DuckDB and Spark may convert a value differently.
    """
    source = operand.type
    if is_null_constant(operand):
        return Constant(None, target)
    if source == target and source.line is not None:
        return operand
    if isinstance(operand, Constant):
        return _constant_cast(operand, target)
    if isinstance(operand, Term):
        if keeps_value(source, target):
            return replace(operand, type=target)
        if source.id in SIGNED and (target.id in SIGNED or target == _DOUBLE):
            # A value that does not fit is an error in both systems.
            converted = Call("Cast", (expr_of_type(operand, source),), ANSI, target.data_type)
            return Term(converted, target, target)
    raise NotUnderstood(f"a cast of {source.id} to {target.id} is not supported")


def _constant_cast(operand: Constant, target: LogicalType) -> Constant:
    source, value = operand.type, operand.value
    if keeps_value(source, target):
        is_rounded = target.is_floating and isinstance(value, Fraction)
        return Constant(float(value) if is_rounded else value, target)  # type: ignore[arg-type]
    if source.id in _LONGS and target == _DOUBLE and isinstance(value, Fraction):
        return Constant(float(value), target)
    raise NotUnderstood(f"a cast of {source.id} to {target.id} is not supported")


def signed(operand: Operand, target: LogicalType) -> Expr:
    """Return an operand as an expression of a type of signed integers that holds all its values."""
    if isinstance(operand, Term) and operand.source != operand.type:
        # The cast was dropped, because it keeps the value: compute in the type of the cast.
        operand = Term(_widened(operand.expr, operand.type), operand.type, operand.type)
    if operand.type != target and isinstance(operand, Term):
        operand = Term(_widened(operand.expr, target), target, target)
    return expr_of_type(_as(operand, target), target)


def _widened(expr: Expr, target: LogicalType) -> Expr:
    return Call("Cast", (expr,), ANSI, target.data_type)
