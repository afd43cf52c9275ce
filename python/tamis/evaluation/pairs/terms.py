"""A value as another value of the same row, plus a constant.

    expression                        base    shift               unit
    a                                 a       0                   1
    a + 3, date_add(a, 3)             a       3                   1
    ts + INTERVAL 1 HOUR              ts      3,600,000,000       1
    unix_seconds(ts)                  ts      from -999,999 to 0  1,000,000
    CAST(ts_ntz AS DATE)              ts_ntz  less than a day     a day

For every row in which the base is not NULL, expression = (base + shift) / unit, exactly, with some
shift from `least` to `most`. It is NULL if and only if the base is. Numbers count as they are
(decimals are not unscaled), dates in days, timestamps in microseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import NO, Flags
from tamis.evaluation.domain.flags import all_of
from tamis.evaluation.domain.interval import interval
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.arithmetic.number_bounds import fits
from tamis.evaluation.functions.temporal.timestamps import SAFE
from tamis.evaluation.functions.temporal.zones import DAY, SECOND, zone_of
from tamis.evaluation.interpreter import value
from tamis.evaluation.statistics import Statistics, Subject
from tamis.expr.nodes import Call, Column, Expr, Literal, type_of
from tamis.expr.types import DATE, LONG, TIMESTAMP, TIMESTAMP_NTZ, DataType

__all__ = ["Step", "Term", "holds_sums", "is_number", "proven", "term_of", "zone_width"]

_ZERO: Final = Fraction(0)


@dataclass(frozen=True, slots=True)
class Step:
    """An addition that may overflow: `argument + by`, of type `type`."""

    argument: Expr
    by: int
    type: DataType


@dataclass(frozen=True, slots=True)
class Term:
    """expression = (base + shift) / unit, for a shift from `least` to `most`.

    Attributes:
        base: The value that is shifted.
        type: Its type.
        least: The least shift.
        most: The greatest shift.
        unit: The divisor.
        steps: The additions that must not overflow, see `proven`.
    """

    base: Subject
    type: DataType
    least: Fraction = _ZERO
    most: Fraction = _ZERO
    unit: Fraction = Fraction(1)
    steps: tuple[Step, ...] = ()

    @property
    def is_plain(self) -> bool:
        return self.least == self.most == 0 and self.unit == 1

    def moved(self, least: int | Fraction, most: int | Fraction) -> Term:
        """Return the term of the expression plus `least` to `most`, in units of the expression."""
        return replace(
            self, least=self.least + least * self.unit, most=self.most + most * self.unit
        )

    def divided(self, unit: int, least: int, most: int) -> Term:
        """Return the term of (expression + `least` to `most`) / unit, which is a whole number."""
        return replace(self.moved(least, most), unit=self.unit * unit)


def term_of(expr: Expr) -> Term | None:
    """Return an expression as a term; None for constants and for what has no base.

    >>> from tamis.expr.types import INTEGER
    >>> a, three = Column(("a",), INTEGER), Literal(3, INTEGER)
    >>> term = term_of(Call("Add", (three, a), (), INTEGER))
    >>> term.base.path, int(term.least)
    (('a',), 3)
    """
    match expr:
        case Column(path=path, type=data_type):
            return Term(Column(path, data_type), data_type)
        case Call(name=name, key=key, type=data_type):
            rule = _RULES.get(name)
            term = None if rule is None else rule(expr)
            if term is not None:
                return term
            return None if key is None else Term(key, data_type)
        case _:
            return None


def proven(term: Term, statistics: Statistics) -> Flags:
    """Return where no step of a term can overflow, by the bounds of its argument.

    Beyond the range of its type an addition wraps around, raises or is NULL.
    """
    return all_of(_is_within(step, statistics) for step in term.steps)


def _is_within(step: Step, statistics: Statistics) -> Flags:
    x = interval(value(step.argument, statistics))
    if x is None:
        return NO
    by = np.array([step.by])
    (low, low_exact), (high, high_exact) = (
        int64_overflow.add(edge, by) for edge in (x.lower, x.upper)
    )
    if step.type in (TIMESTAMP, TIMESTAMP_NTZ):
        within = (low > -SAFE) & (high < SAFE)
    else:
        within = fits(step.type, low, high)
    # where no row has a value, the edges mean nothing, and nothing is added
    flags: Flags = (x.known & low_exact & high_exact & within) | ~x.can_be_value
    return flags


# --- numbers --------------------------------------------------------------------------------------


def is_number(data_type: DataType) -> bool:
    """Return whether the type is integral or decimal: no value is rounded."""
    return data_type.is_integral or data_type.is_decimal


def holds_sums(data_type: DataType, *arguments: DataType | None) -> bool:
    """Return whether a decimal type holds every sum and difference of two arguments, unrounded.

    >>> from tamis.expr.types import decimal
    >>> holds_sums(decimal(13, 2), decimal(12, 2), decimal(3, 1))
    True
    >>> holds_sums(decimal(38, 6), decimal(38, 6), decimal(3, 1))
    False
    """
    if not data_type.is_decimal:
        return False
    return all(
        each is not None
        and each.is_decimal
        and (each.scale or 0) <= (data_type.scale or 0)
        and _whole_digits(each) < _whole_digits(data_type)
        for each in arguments
    )


def _whole_digits(data_type: DataType) -> int:
    return (data_type.precision or 0) - (data_type.scale or 0)


#: Whole digits of the integral types.
_DIGITS: Final = {"byte": 3, "short": 5, "integer": 10, "long": 19}


def _added(call: Call) -> Term | None:
    """a + constant, constant + a, a - constant."""
    match call:
        case Call(name="Add", arguments=(Literal() as constant, other)):
            sign = 1
        case Call(name="Add", arguments=(other, Literal() as constant)):
            sign = 1
        case Call(name="Subtract", arguments=(other, Literal() as constant)):
            sign = -1
        case _:
            return None
    term, by = term_of(other), constant.value
    if term is None or isinstance(by, bool) or not isinstance(by, int | Decimal):
        return None
    if call.type.is_integral:
        if not (type_of(other) == constant.type == call.type):
            return None
        moved = term.moved(sign * int(by), sign * int(by))
        return replace(moved, steps=(*term.steps, Step(other, sign * int(by), call.type)))
    if not holds_sums(call.type, type_of(other), constant.type):
        return None
    return term.moved(sign * Fraction(by), sign * Fraction(by))


def _cast(call: Call) -> Term | None:
    """CAST that keeps the value, or that rounds a moment down."""
    if len(call.arguments) != 1:
        return None
    (child,) = call.arguments
    term, given, wanted = term_of(child), type_of(child), call.type
    if term is None or given is None:
        return None
    if given == wanted or (given.name, wanted.name) == ("float", "double"):
        return term
    if given.is_integral and wanted.is_integral:
        (least, greatest), (from_least, from_greatest) = wanted.domain, given.domain
        return term if least <= from_least and from_greatest <= greatest else None
    if is_number(given) and wanted.is_decimal:
        digits = _DIGITS[given.name] if given.is_integral else _whole_digits(given)
        keeps_scale = (given.scale or 0) <= (wanted.scale or 0)
        return term if keeps_scale and digits <= _whole_digits(wanted) else None
    if (given, wanted) == (TIMESTAMP, LONG):
        return term.divided(SECOND, 1 - SECOND, 0)  # rounded down
    if (given, wanted) == (TIMESTAMP_NTZ, DATE):
        return term.divided(DAY, 1 - DAY, 0)
    if (given, wanted) == (TIMESTAMP, DATE):
        least, most = zone_of(call).range  # the local day
        return term.divided(DAY, least + 1 - DAY, most)
    if (given, wanted) == (TIMESTAMP, TIMESTAMP_NTZ):
        return term.moved(*zone_of(call).range)
    if (given, wanted) == (TIMESTAMP_NTZ, TIMESTAMP):
        least, most = zone_of(call).range
        return term.moved(-most, -least)
    return None


# --- dates and timestamps -------------------------------------------------------------------------


def _moved_days(sign: int) -> Callable[[Call], Term | None]:
    """date_add and date_sub, which wrap around at 32 bits."""

    def rule(call: Call) -> Term | None:
        match call.arguments:
            case (date, Literal(value=int(days), type=data_type)) if data_type.is_integral:
                term = term_of(date) if type_of(date) == DATE else None
                if term is None:
                    return None
                moved = term.moved(sign * days, sign * days)
                return replace(moved, steps=(*term.steps, Step(date, sign * days, DATE)))
        return None

    return rule


def _moved_moment(call: Call) -> Term | None:
    """timestamp + INTERVAL of days to seconds."""
    match call.arguments:
        case (moment, Literal(value=int(by), type=data_type)) if (
            data_type.name == "day_time_interval"
        ):
            term = term_of(moment)
        case _:
            return None
    if term is None or type_of(moment) not in (TIMESTAMP, TIMESTAMP_NTZ):
        return None
    # Whole days are added to the local time, so the offsets before and after may differ.
    slack = zone_width(call) if type_of(moment) == TIMESTAMP and abs(by) >= DAY else 0
    moved = term.moved(by - slack, by + slack)
    return replace(moved, steps=(*term.steps, Step(moment, by, type_of(moment) or TIMESTAMP)))


def zone_width(call: Call) -> int:
    """Return by how much two offsets of the time zone of a call differ at most."""
    least, most = zone_of(call).range
    return most - least


def _days_of(call: Call) -> Term | None:
    term = term_of(call.arguments[0]) if len(call.arguments) == 1 else None
    return term if term is not None and type_of(call.arguments[0]) == DATE else None


def _since_1970(unit: int) -> Callable[[Call], Term | None]:
    """unix_seconds, unix_millis and unix_micros, rounded down."""

    def rule(call: Call) -> Term | None:
        if len(call.arguments) != 1 or type_of(call.arguments[0]) != TIMESTAMP:
            return None
        term = term_of(call.arguments[0])
        return None if term is None else term.divided(unit, 1 - unit, 0)

    return rule


def _unix_timestamp(call: Call) -> Term | None:
    """unix_timestamp of a timestamp: seconds, rounded toward zero."""
    if not call.arguments or type_of(call.arguments[0]) not in (TIMESTAMP, TIMESTAMP_NTZ):
        return None
    term = term_of(call.arguments[0])
    return None if term is None else term.divided(SECOND, 1 - SECOND, SECOND - 1)


_RULES: Final[dict[str, Callable[[Call], Term | None]]] = {
    "Add": _added,
    "Subtract": _added,
    "Cast": _cast,
    "DateAdd": _moved_days(1),
    "DateSub": _moved_days(-1),
    "TimestampAddInterval": _moved_moment,
    "UnixDate": _days_of,
    "UnixSeconds": _since_1970(SECOND),
    "UnixMillis": _since_1970(1_000),
    "UnixMicros": _since_1970(1),
    "UnixTimestamp": _unix_timestamp,
    "ToUnixTimestamp": _unix_timestamp,
}
