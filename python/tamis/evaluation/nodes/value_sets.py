"""The set of values of one column for which a predicate is true.

    predicate         ordinary values       NaN               NULL
    c < v             below v               no                no
    c >= v            v and above           yes               no     NaN is the greatest value
    c = v             v                     if v is NaN       no
    c <> v            all but v             if v is not NaN   no
    c IN (…)          the options           if listed         no
    c NOT IN (…)      all but the options   if not listed     no     empty if NULL is listed
    c IS NULL         none                  no                yes
    c IS NOT NULL     all                   yes               no
    NOT (c <=> v)     all but v             if v is not NaN   yes

A conjunction is true for the intersection of the sets. Limits are inclusive. For whole numbers,
dates, timestamps and decimals x > 5 becomes x >= the next value; for floating-point numbers, x >=
the next double; for strings, x >= the string followed by a zero character. The exception is x < v
for strings, because no string is the greatest below v: there the upper limit is exclusive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

from tamis.evaluation.domain.edge_values import comparable, edge_of, is_nan
from tamis.evaluation.nodes.membership import options_of
from tamis.expr.decimals import from_unscaled, unscaled
from tamis.expr.nodes import (
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Value,
    Within,
)
from tamis.expr.types import BOOLEAN, DataType

__all__ = ["NotUnderstood", "ValueSet", "column_of", "true_values"]


class NotUnderstood(Exception):
    """The predicate cannot be expressed as a set of values of one column."""


@dataclass(frozen=True, slots=True)
class ValueSet:
    """The ordinary values within [lower, upper] that are not excluded. None: no limit.

    - `upper_open`: whether `upper` itself is not in the set.
    - `options`: the only ordinary values in question; None: all values.
    - `nan`, `null`: whether the set also contains NaN or NULL.
    """

    # Any: values of one type that can be compared with each other.
    lower: Any = None
    upper: Any = None
    upper_open: bool = False
    options: tuple[Any, ...] | None = None
    excluded: frozenset[Any] = frozenset()
    nan: bool = False
    null: bool = False

    def intersected(self, other: ValueSet) -> ValueSet:
        """Return the intersection of both sets."""
        lower = _tightest(max, self.lower, other.lower)
        upper = _tightest(min, self.upper, other.upper)
        is_open = any(each.upper_open and each.upper == upper for each in (self, other))
        options = self.options
        if options is None:
            options = other.options
        elif other.options is not None:
            other_options = frozenset(other.options)
            options = tuple(option for option in options if option in other_options)
        excluded = self.excluded | other.excluded
        nan, null = self.nan and other.nan, self.null and other.null
        return ValueSet(lower, upper, is_open, options, excluded, nan, null)

    def settled(self, data_type: DataType) -> ValueSet:
        """Return the same set in a normal form.

        Limits are cut to the domain of the type and options to the limits. A set without ordinary
        values has empty options; a range of a single value has it as the only option.
        """
        nan = self.nan and data_type.is_floating
        least, greatest = _domain(data_type)
        options = (False, True) if data_type == BOOLEAN and self.options is None else self.options
        if options is not None:
            return replace(self, options=self._holding(options, least, greatest), nan=nan)
        lower, upper = self.lower, self.upper
        if least is not None and greatest is not None:
            # An excluded value at a limit moves the limit: x >= 5 without 5 is x >= 6.
            while lower is not None and lower in self.excluded:
                lower = _step(lower, data_type, 1)
            while upper is not None and upper in self.excluded:
                upper = _step(upper, data_type, -1)
            if (lower is not None and lower > greatest) or (upper is not None and upper < least):
                return replace(self, options=(), nan=nan)
            lower = None if lower is None or lower <= least else lower
            upper = None if upper is None or upper >= greatest else upper
        options = None
        if lower is not None and upper is not None and lower >= upper:
            # At most one value is left.
            is_in = lower == upper and not self.upper_open and lower not in self.excluded
            options = (lower,) if is_in else ()
        return replace(self, lower=lower, upper=upper, nan=nan, options=options)

    def _holding(self, options: tuple[Any, ...], least: Any, greatest: Any) -> tuple[Any, ...]:
        """Return the options that are in the set."""
        if self.excluded:
            options = tuple(each for each in options if each not in self.excluded)
        lower = _tightest(max, self.lower, least)
        upper = _tightest(min, self.upper, greatest)
        if lower is not None:
            options = tuple(each for each in options if each >= lower)
        if upper is not None:
            options = tuple(each for each in options if each <= upper)
        if self.upper_open:
            options = tuple(each for each in options if each != self.upper)
        return options


def column_of(expr: Expr) -> Column | None:
    """Return the only column of a predicate without AND and OR; None for any other form.

    >>> from tamis.expr.types import LONG
    >>> column_of(Not(IsNull(Column(("a",), LONG)))).path
    ('a',)
    """
    match expr:
        case Column(type=data_type):
            return expr if data_type == BOOLEAN else None
        case Not(child=Compare(op=Comparison.NULL_SAFE_EQUAL) | In() | IsNull() as child):
            return column_of(child)
        case Compare(left=Column() as column, right=Literal()):
            return column
        case Compare(left=Literal(), right=Column() as column):
            return column
        case In(value=Column() as column) | IsNull(child=Column() as column):
            return column
        case Within(value=column):
            return column
        case _:
            return None


def true_values(expr: Expr) -> ValueSet:
    """Return the values of its column for which the predicate is true.

    Raises:
        NotUnderstood: The predicate cannot be expressed as a set of values of one column.
        TypeError, ValueError, ArithmeticError: A constant is not a value of its type.

    >>> from tamis.expr.types import LONG
    >>> above = Compare(Comparison.GREATER, Column(("a",), LONG), Literal(5, LONG))
    >>> true_values(above).lower
    6
    """
    match expr:
        case Column():
            return ValueSet(options=(True,))
        case IsNull():
            return ValueSet(options=(), null=True)
        case Not(child=IsNull()):
            return ValueSet(nan=True)
        case Within():
            return ValueSet(expr.lower, expr.upper, expr.upper_open, nan=expr.nan)
        case In():
            options, nan = _options(expr)
            return ValueSet(options=options, nan=nan)
        case Not(child=In(options=()) as child) if not child.has_null:
            raise NotUnderstood  # the result of NULL NOT IN () depends on a Spark setting
        case Not(child=In(has_null=True)):
            return ValueSet(options=())
        case Not(child=In() as child):
            options, nan = _options(child)
            return ValueSet(excluded=frozenset(options), nan=not nan)
        case Not(child=Compare(left=Column() as column, right=Literal() as constant)):
            return replace(_compared(Comparison.NOT_EQUAL, column, constant), null=True)
        case Not(child=Compare(left=Literal() as constant, right=Column() as column)):
            return replace(_compared(Comparison.NOT_EQUAL, column, constant), null=True)
        case Compare(op=op, left=Column() as column, right=Literal() as constant):
            return _compared(op, column, constant)
        case Compare(op=op, left=Literal() as constant, right=Column() as column):
            return _compared(op.swapped, column, constant)
        case _:
            raise NotUnderstood


def _compared(op: Comparison, column: Column, constant: Literal) -> ValueSet:
    if constant.value is None or not comparable(column.type, constant.type):
        raise NotUnderstood
    if column.type.is_floating and column.type != constant.type:
        raise NotUnderstood  # the next value differs between FLOAT and DOUBLE
    if is_nan(constant.value) and constant.type.is_floating:
        return _compared_with_nan(op)
    value, data_type = _normal(constant.value, constant.type), constant.type
    match op:
        case Comparison.EQUAL | Comparison.NULL_SAFE_EQUAL:
            return ValueSet(options=(value,))
        case Comparison.NOT_EQUAL:
            return ValueSet(excluded=frozenset((value,)), nan=True)
        case Comparison.LESS_EQUAL:
            return ValueSet(upper=value)
        case Comparison.GREATER_EQUAL:
            return ValueSet(lower=value, nan=True)
        case Comparison.LESS if data_type.is_text:
            return ValueSet(upper=value, upper_open=True)
        case Comparison.LESS:
            below = _step(value, data_type, -1)
            return ValueSet(upper=below) if below != value else ValueSet(options=())
        case Comparison.GREATER:
            above = _step(value, data_type, 1)
            if above == value:  # only NaN is greater than infinity
                return ValueSet(options=(), nan=True)
            return ValueSet(lower=above, nan=True)


def _compared_with_nan(op: Comparison) -> ValueSet:
    """Return the set for a comparison with NaN: greater than all ordinary values, equal to NaN."""
    match op:
        case Comparison.LESS | Comparison.NOT_EQUAL:
            return ValueSet()
        case Comparison.LESS_EQUAL:
            return ValueSet(nan=True)
        case Comparison.GREATER:
            return ValueSet(options=())
        case _:
            return ValueSet(options=(), nan=True)


def _options(expr: In) -> tuple[tuple[Any, ...], bool]:
    """Return the options without NaN, and whether NaN was one. All are values of the type."""
    known = options_of(expr)
    if known is None:
        raise NotUnderstood
    if known.data_type.is_floating:
        return tuple(known.edge.tolist()), known.has_nan
    return expr.options, False


def _normal(value: Value, data_type: DataType) -> Any:
    """Return the constant as it is compared: a FLOAT rounded to 32 bits, a decimal at its scale.

    Raises:
        TypeError, ValueError, ArithmeticError: The constant is not a value of the type.
    """
    edge = edge_of([value], data_type)
    if data_type.is_floating:
        return float(edge[0]) + 0.0  # -0.0 + 0.0 is 0.0
    if data_type.is_decimal:
        scale = data_type.scale or 0
        return from_unscaled(unscaled(value, scale), scale)  # type: ignore[arg-type]
    return value


def _step(value: Any, data_type: DataType, step: int) -> Any:
    """Return the next value of the type above or below; for text, only the next one above."""
    if data_type.is_floating:
        return math.nextafter(value, math.inf * step)
    if data_type.is_decimal:
        scale = data_type.scale or 0
        return from_unscaled(unscaled(value, scale) + step, scale)
    if data_type.is_text:
        return value + (b"\0" if isinstance(value, bytes) else "\0")
    return value + step


_GREATEST_DECIMAL: Final = 10**38 - 1


def _domain(data_type: DataType) -> tuple[Any, Any]:
    """Return the least and greatest value of a type with discrete values; else (None, None)."""
    if data_type.is_decimal:
        scale = data_type.scale or 0
        least, greatest = -_GREATEST_DECIMAL, _GREATEST_DECIMAL
        if data_type.is_discrete:
            least, greatest = data_type.domain
        return from_unscaled(least, scale), from_unscaled(greatest, scale)
    return data_type.domain if data_type.is_discrete else (None, None)


def _tightest(choose: Any, one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return choose(one, other)
