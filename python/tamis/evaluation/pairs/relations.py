"""Comparisons and subtractions of two values of one row, in one form.

    expression                      left  right  kind
    a < b + 3                       a     b + 3  comparison
    a - b, datediff(a, b)           a     b      subtraction
    timestampdiff(HOUR, b, a)       a     b      subtraction in hours, rounded toward zero

Both sides are terms (see evaluation.pairs.terms) over bases of one kind: numbers, dates, timestamps
of one type, or anything else that has an order. Of the latter, only which one is greater is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from tamis.evaluation.functions.temporal.zones import DAY, UNIT_LENGTHS
from tamis.evaluation.pairs.terms import Term, holds_sums, is_number, term_of, zone_width
from tamis.evaluation.statistics import Relation, RelationKind
from tamis.expr.nodes import Call, Compare, Comparison, Expr, type_of
from tamis.expr.types import (
    DATE,
    DAY_TIME_INTERVAL,
    INTEGER,
    LONG,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
)

__all__ = [
    "EQUALITIES",
    "SUBTRACTIONS",
    "Pair",
    "Subtraction",
    "comparison_of",
    "is_exact",
    "pair_of",
    "relations_in",
    "subtraction_of",
]

#: The operators that recorded equalities decide.
EQUALITIES: Final = (Comparison.EQUAL, Comparison.NOT_EQUAL, Comparison.NULL_SAFE_EQUAL)


@dataclass(frozen=True, slots=True)
class Pair:
    """A comparison `left op right`.

    Attributes:
        left: The left side.
        right: The right side.
        op: The operator.
    """

    left: Term
    right: Term
    op: Comparison

    def relation(self, kind: RelationKind) -> Relation:
        return Relation(kind, self.left.base, self.right.base)

    @property
    def is_plain(self) -> bool:
        """Whether it compares the bases themselves."""
        return self.left.is_plain and self.right.is_plain

    @property
    def scale(self) -> int:
        return scale_of(self.left, self.right)

    @property
    def shift(self) -> tuple[int, int]:
        return shift_of(self.left, self.right)


@dataclass(frozen=True, slots=True)
class Subtraction:
    """A value that satisfies value * unit = (left.base + shift) - (right.base + shift) + error.

    Attributes:
        left: The minuend.
        right: The subtrahend.
        arguments: The minuend and the subtrahend as expressions.
        type: The type of the value.
        unit: What one of the value is, in units of the bases.
        error: The greatest absolute value of the error, which is due to rounding and time zones.
        wraps: Whether the value is another one, or NULL, where it overflows `type`. Otherwise it
            cannot overflow, or Spark raises.
    """

    left: Term
    right: Term
    arguments: tuple[Expr, Expr]
    type: DataType
    unit: Fraction
    error: int = 0
    wraps: bool = False

    def relation(self) -> Relation:
        return Relation(RelationKind.DIFFERENCE, self.left.base, self.right.base)

    @property
    def scale(self) -> int:
        return scale_of(self.left, self.right)

    @property
    def shift(self) -> tuple[int, int]:
        """The least and the greatest sum of shifts and error, at the scale of both bases."""
        least, most = shift_of(self.left, self.right)
        error = self.error * 10**self.scale
        return least - error, most + error


def scale_of(left: Term, right: Term) -> int:
    """Return the number of decimals of a difference of the bases."""
    return max(left.type.scale or 0, right.type.scale or 0)


def shift_of(left: Term, right: Term) -> tuple[int, int]:
    """Return the least and the greatest shift of a difference, at the scale of both bases.

    Rounded outward to whole numbers.
    """
    factor = 10 ** scale_of(left, right)
    least, most = left.least - right.most, left.most - right.least
    return math.floor(least * factor), math.ceil(most * factor)


def pair_of(expr: Expr) -> Pair | Subtraction | None:
    """Return an expression as a comparison or a subtraction of two values; None if it is neither.

    >>> from tamis.expr.nodes import Column
    >>> a, b = Column(("a",), LONG), Column(("b",), LONG)
    >>> pair_of(Compare(Comparison.LESS, a, b)).relation(RelationKind.DIFFERENCE).right.path
    ('b',)
    """
    return comparison_of(expr) if isinstance(expr, Compare) else subtraction_of(expr)


def relations_in(expr: Expr) -> tuple[Relation, ...]:
    """Return the relations that decide an expression, if they were recorded."""
    pair = pair_of(expr)
    if pair is None:
        return ()
    if isinstance(pair, Subtraction):
        return (pair.relation(),)
    difference = pair.relation(RelationKind.DIFFERENCE)
    if not (pair.is_plain and pair.op in EQUALITIES):
        return (difference,)
    return difference, pair.relation(RelationKind.EQUALITY)


def comparison_of(expr: Compare) -> Pair | None:
    left = term_of(expr.left)
    right = None if left is None else term_of(expr.right)
    if left is None or right is None or not _is_comparable(left, right):
        return None
    return Pair(left, right, expr.op)


def subtraction_of(expr: Expr) -> Subtraction | None:
    if not isinstance(expr, Call) or expr.name not in SUBTRACTIONS:
        return None
    if len(expr.arguments) != 2:
        return None
    end, start = expr.arguments
    if expr.name == "TimestampDiff":
        end, start = start, end  # timestampdiff(unit, start, end)
    left = term_of(end)
    right = None if left is None else term_of(start)
    if left is None or right is None or not _is_comparable(left, right):
        return None
    types = type_of(end), type_of(start)
    arguments, unit = (end, start), left.unit
    match expr.name:
        case "Subtract" if expr.type.is_integral and types == (expr.type, expr.type):
            wraps = expr.option("evalMode") != "ANSI"
            return Subtraction(left, right, arguments, expr.type, unit, wraps=wraps)
        case "Subtract" if holds_sums(expr.type, *types):
            return Subtraction(left, right, arguments, expr.type, unit)
        case "Subtract" if expr.type.is_floating and types == (expr.type, expr.type):
            return Subtraction(left, right, arguments, expr.type, unit)
        case "DateDiff" if expr.type == INTEGER and types == (DATE, DATE):
            return Subtraction(left, right, arguments, INTEGER, unit, wraps=True)
        case "SubtractDates" if expr.type == DAY_TIME_INTERVAL and types == (DATE, DATE):
            return Subtraction(left, right, arguments, DAY_TIME_INTERVAL, unit / DAY)
        case "SubtractTimestamps" if expr.type == DAY_TIME_INTERVAL and _are_moments(*types):
            error = _local_error(expr, types[0])
            return Subtraction(left, right, arguments, DAY_TIME_INTERVAL, unit, error)
        case "TimestampDiff" if expr.type == LONG and _are_moments(*types) and unit == 1:
            length = UNIT_LENGTHS.get(str(expr.option("unit")).upper())
            if length is None:
                return None
            # Rounded toward zero to whole units, which takes away less than one unit.
            error = length - 1 + _local_error(expr, types[0])
            return Subtraction(left, right, arguments, LONG, Fraction(length), error)
    return None


#: Calls that subtract one value from another.
SUBTRACTIONS: Final = frozenset(
    ("Subtract", "DateDiff", "SubtractDates", "SubtractTimestamps", "TimestampDiff")
)


def _are_moments(end: DataType | None, start: DataType | None) -> bool:
    return end == start and end in (TIMESTAMP, TIMESTAMP_NTZ)


def _local_error(call: Call, data_type: DataType | None) -> int:
    """Return by how much a difference of local times differs from that of the moments."""
    return zone_width(call) if data_type == TIMESTAMP else 0


def _is_comparable(left: Term, right: Term) -> bool:
    if left.base == right.base or left.unit != right.unit:
        return False
    if _kind(left.type) != _kind(right.type):
        return False
    return is_exact(left) or (left.is_plain and right.is_plain)


def _kind(data_type: DataType) -> str:
    if is_number(data_type):
        return "number"
    return "floating" if data_type.is_floating else str(data_type)


def is_exact(term: Term) -> bool:
    """Return whether differences of such bases are exact. Of others, only the sign is known."""
    return is_number(term.type) or term.type in (DATE, TIMESTAMP, TIMESTAMP_NTZ)
