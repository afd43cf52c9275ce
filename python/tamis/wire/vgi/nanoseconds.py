"""Comparisons of TIMESTAMP_NS, whose statistics and expressions are in whole microseconds.

For a time v with the microsecond m = ⌊v⌋, and a constant c with n = ⌊c⌋, `v op c` implies
`m op' n`, where op' is <= for <, >= for >, and op for the others except <>. So

    v op c    is written as    m op' n  AND  nanoseconds(v) op nanoseconds(c)

Statistics of files prove something about the first part, the values of rows decide the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor
from typing import Final

from tamis.expr.nodes import And, Column, Compare, Comparison, Expr, In, Literal, Not
from tamis.expr.types import LONG, TIMESTAMP_NTZ
from tamis.wire.duckdb.comparisons import Constant, Operand
from tamis.wire.duckdb.constant_comparisons import Term
from tamis.wire.duckdb.document import NotUnderstood
from tamis.wire.vgi.reader import Reader
from tamis.wire.vgi.row_values import Nanoseconds

__all__ = ["among", "compare", "is_nanoseconds"]

_WEAKER: Final = {
    Comparison.LESS: Comparison.LESS_EQUAL,
    Comparison.GREATER: Comparison.GREATER_EQUAL,
}


def is_nanoseconds(operand: Operand) -> bool:
    """Return whether an operand holds stored nanoseconds."""
    return isinstance(operand, Term) and operand.source.id == "TIMESTAMP_NS"


def compare(reader: Reader, op: Comparison, left: Operand, right: Operand) -> Expr:
    """Return `left op right`, where one of them holds nanoseconds.

    Raises:
        NotUnderstood: A side is not a column or a constant in the range of nanoseconds.
    """
    if op is Comparison.NOT_EQUAL:
        return Not(compare(reader, Comparison.EQUAL, left, right))
    (m, v), (n, c) = _sides(reader, left), _sides(reader, right)
    return And((Compare(_WEAKER.get(op, op), m, n), Compare(op, v, c)))


def among(reader: Reader, value: Operand, options: Sequence[Operand]) -> Expr:
    """Return `value IN (options)`."""
    m, v = _sides(reader, value)
    times = [each.value for each in options if isinstance(each, Constant)]
    known = [each for each in times if isinstance(each, Fraction)]
    if len(times) < len(options):
        raise NotUnderstood("IN is supported for constants only")
    has_null = len(known) < len(times)
    microseconds = tuple(dict.fromkeys(floor(each) for each in known))
    nanoseconds = tuple(dict.fromkeys(_nanoseconds(each) for each in known))
    return And((In(m, microseconds, has_null), In(v, nanoseconds, has_null)))


def _sides(reader: Reader, operand: Operand) -> tuple[Expr, Expr]:
    """Return an operand in microseconds, rounded down, and in nanoseconds."""
    match operand:
        case Term(expr=Column(path=path) as column, source=source) if source.id == "TIMESTAMP_NS":
            return column, reader.compute("Nanoseconds", (), Nanoseconds(path))
        case Constant(value=None):
            return Literal(None, TIMESTAMP_NTZ), Literal(None, LONG)
        case Constant(value=Fraction() as time):
            return Literal(floor(time), TIMESTAMP_NTZ), Literal(_nanoseconds(time), LONG)
    raise NotUnderstood("nanoseconds are compared with nanoseconds and constants only")


def _nanoseconds(time: Fraction) -> int:
    whole = time * 1000
    if whole.denominator != 1 or not -(1 << 63) < whole < (1 << 63) - 1:
        raise NotUnderstood("a time is beyond the range of nanoseconds")
    return int(whole)
