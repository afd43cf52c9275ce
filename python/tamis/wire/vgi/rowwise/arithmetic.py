"""Sums, differences, products and negation of numbers, as DuckDB computes them.

    integers        in the wider type; if only one is signed, in it if it holds both, else in
                    BIGINT, and with a UBIGINT in HUGEINT
    DECIMAL         with one more digit for sums, and the digits of both for products, up to 18
                    digits if both operands have at most 18, and else up to 38
    with a FLOAT    as FLOAT, with a DOUBLE as DOUBLE

A result that does not fit its type is an error. FLOAT and DOUBLE overflow to infinity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tamis.wire.duckdb.document import NotUnderstood
from tamis.wire.duckdb.types import Line, LogicalType
from tamis.wire.vgi.rowwise.casts import within
from tamis.wire.vgi.rowwise.types import (
    INTEGERS,
    MOST_DIGITS,
    common_type,
    digits_of,
    is_decimal,
)

__all__ = ["Arithmetic", "arithmetic", "negation"]

_SIGNED: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_UNSIGNED: Final = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_LONG_DIGITS: Final = 18
_COMPUTE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": lambda left, right: left + right,
    "subtract": lambda left, right: left - right,
    "multiply": lambda left, right: left * right,
}


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """An operation: the types to which the operands are cast, its type, and what it computes."""

    operands: tuple[LogicalType, LogicalType]
    type: LogicalType
    compute: Callable[[Any, Any], Any]


def arithmetic(op: str, left: LogicalType, right: LogicalType) -> Arithmetic:
    """Return an operation for operands of these types.

    Raises:
        NotUnderstood: They are not numbers, or no DECIMAL holds the result.
    """
    if left.line is not Line.NUMBER or right.line is not Line.NUMBER:
        raise NotUnderstood(f"arithmetic of {left.id} and {right.id} is not supported")
    compute = _COMPUTE[op]
    if left.is_floating or right.is_floating:
        kind = common_type(left, right)
        return Arithmetic((kind, kind), kind, _floating(compute, kind))
    if is_decimal(left) or is_decimal(right):
        operands, result = _decimals(op, left, right)
    else:
        result = _integer(left, right)
        operands = (result, result)
    return Arithmetic(operands, result, lambda a, b: within(compute(a, b), result))


def _floating(compute: Callable[[Any, Any], Any], kind: LogicalType) -> Callable[[Any, Any], Any]:
    real: Callable[[Any], Any] = np.float64 if kind.id == "DOUBLE" else np.float32

    def rounded(left: float, right: float) -> float:
        with np.errstate(all="ignore"):
            return float(compute(real(left), real(right)))

    return rounded


def _integer(left: LogicalType, right: LogicalType) -> LogicalType:
    for kinds in (_SIGNED, _UNSIGNED):
        if left.id in kinds and right.id in kinds:
            return max(left, right, key=lambda each: kinds.index(each.id))
    unsigned, signed = (left, right) if left.id in _UNSIGNED else (right, left)
    if unsigned.id == "UBIGINT":
        return LogicalType("HUGEINT")
    # A wider signed type holds the values of an unsigned one; otherwise DuckDB takes the widest.
    is_held = _SIGNED.index(signed.id) > _UNSIGNED.index(unsigned.id)
    return signed if is_held else LogicalType("BIGINT")


def _decimals(
    op: str, left: LogicalType, right: LogicalType
) -> tuple[tuple[LogicalType, LogicalType], LogicalType]:
    (left_width, left_scale), (right_width, right_scale) = digits_of(left), digits_of(right)
    most = max(left_width, right_width)
    if op == "multiply":
        width, scale = left_width + right_width, left_scale + right_scale
        if scale > MOST_DIGITS:
            raise NotUnderstood("no DECIMAL type holds the product")
        is_cut = width > _LONG_DIGITS and most <= _LONG_DIGITS and scale < _LONG_DIGITS
    else:
        scale = max(left_scale, right_scale)
        width = max(left_width - left_scale, right_width - right_scale) + scale
        width = max(width, most) + 1
        is_cut = width > _LONG_DIGITS >= most
    width = min(_LONG_DIGITS if is_cut else width, MOST_DIGITS)
    result = LogicalType("DECIMAL", width, scale)
    if op != "multiply":
        return (result, result), result
    sides = (LogicalType("DECIMAL", width, left_scale), LogicalType("DECIMAL", width, right_scale))
    return sides, result


def negation(data_type: LogicalType) -> Callable[[Any], Any]:
    """Return what negates a value of a type.

    Raises:
        NotUnderstood: The type is not a number.
    """
    if data_type.is_floating:
        return lambda value: -value
    if data_type.id in _UNSIGNED:
        count = INTEGERS[data_type.id][1] + 1
        return lambda value: -value % count  # DuckDB 1.5 wraps around
    if is_decimal(data_type) or data_type.id in INTEGERS:
        return lambda value: within(-value, data_type)
    raise NotUnderstood(f"negation of {data_type.id} is not supported")
