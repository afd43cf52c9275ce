"""Predicates that Spark's Parquet reader evaluates wrongly, so plain Spark loses rows.

Spark pushes comparisons of a column with a constant to the Parquet reader, which skips row groups
and pages by them. In a few cases the pushed comparison differs from that of the query:

    constant                    what the reader does                     query that loses rows
    a floating-point zero       orders -0.0 below 0.0                    c >= 0.0, rows with -0.0
    a timestamp finer than a    truncates it to milliseconds if the      ts < …00.0015, rows at
    millisecond                 file holds TIMESTAMP_MILLIS              …00.001
    a decimal of more than 31   truncates it to the 32 or 64 bits that   d < 21474836.48, where the
    bits                        a file with fewer digits uses            file holds DECIMAL(9,2)
    a moment that the Julian    moves it past the days that the change   ts > 1582-10-14 22:00,
    calendar does not have      of calendars left out                    rows of 1582-10-15

Observed on Spark 4.1.3. A conjunct with such a constant is never exact. Without the filter the
reader would not get the comparison, and the query would return the rows that plain Spark loses.
That answer would be right, but tamis does not change answers. For the same reason, rows that pass
such a conjunct do not count for LIMIT, ORDER BY and aggregates. The conjunct still prunes files.

NaN is not in the table. Writers other than Spark leave NaN out of the bounds of a row group, so
plain Spark loses the rows of `c > 2.0` in a row group with 2.0 and NaN. But a conjunct that is true
for every row of the file is also true for the ordinary values, so the bounds do not make the reader
skip the row group. A row group that has only NaN has no bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Final

from tamis.expr.nodes import Expr, In, Literal, Value, type_of, walk
from tamis.expr.sql import to_sql
from tamis.expr.types import DataType
from tamis.reasons import Reason, reason

__all__ = ["ReaderLoss", "loses_within", "loss_of", "loss_reason"]


class ReaderLoss(StrEnum):
    """The kind of constant that makes the Parquet reader lose rows."""

    SIGNED_ZERO = "signed zero"
    SUBMILLISECOND = "finer than a millisecond"
    WIDE_DECIMAL = "wide decimal"
    CALENDAR_GAP = "gap of the calendar"


_MICROSECONDS_PER_DAY: Final = 86_400_000_000
#: Days since 1970. The Julian calendar ended on 1582-10-04 and the Gregorian calendar began on
#: 1582-10-15. An extra day on either side covers all time zones.
_GAP: Final = range(
    date(1582, 10, 3).toordinal() - date(1970, 1, 1).toordinal(),
    date(1582, 10, 17).toordinal() - date(1970, 1, 1).toordinal(),
)


def loss_of(expr: Expr) -> ReaderLoss | None:
    """Return why Spark's Parquet reader may lose rows that pass the predicate; None if it does not.

    >>> from tamis.expr.nodes import Column, Compare, Comparison
    >>> from tamis.expr.types import DOUBLE
    >>> d = Column(("d",), DOUBLE)
    >>> loss_of(Compare(Comparison.GREATER_EQUAL, d, Literal(0.0, DOUBLE)))
    <ReaderLoss.SIGNED_ZERO: 'signed zero'>
    >>> loss_of(Compare(Comparison.GREATER_EQUAL, d, Literal(0.5, DOUBLE)))
    """
    for node in walk(expr):
        for constant, data_type in _constants(node):
            loss = _loss(constant, data_type)
            if loss is not None:
                return loss
    return None


def loses_within(lower: Value, upper: Value, data_type: DataType, upper_open: bool = False) -> bool:
    """Return whether the reader may lose values of an interval that tamis would push to it.

    Truncating a timestamp to milliseconds makes `>=` wider. `<=` and `=` keep all milliseconds that
    they should: for a whole millisecond v, v <= t holds if and only if v <= floor(t) does. Only `<`
    loses one.

    >>> from tamis.expr.types import TIMESTAMP
    >>> loses_within(None, 1_500, TIMESTAMP), loses_within(None, 1_500, TIMESTAMP, upper_open=True)
    (False, True)
    """
    if data_type.is_decimal:
        return any(_is_long(each, data_type) for each in (lower, upper))
    losses = {_loss(lower, data_type), _loss(upper, data_type)} - {None}
    if not upper_open or _loss(upper, data_type) is not ReaderLoss.SUBMILLISECOND:
        losses -= {ReaderLoss.SUBMILLISECOND}
    return bool(losses)


def _is_long(bound: Value, data_type: DataType) -> bool:
    """Return whether a bound of decimals has more than 32 bits.

    A file may declare fewer digits than the table. If it holds numbers of 32 bits, the reader
    truncates a longer bound to garbage and loses values. If it holds arrays of bytes, as many
    writers other than Spark store decimals, the reader fails for a bound that does not fit them,
    even if the interval has no value of the file. So longer bounds are not pushed. Arrays of less
    than four bytes, for at most six digits, are not considered.
    """
    if not isinstance(bound, Decimal):
        return False
    return not -(1 << 31) <= bound.scaleb(data_type.scale or 0) < 1 << 31


def loss_reason(expr: Expr, loss: ReaderLoss) -> Reason:
    """Return the reason why a conjunct is not exact because of the loss."""
    if loss is ReaderLoss.SIGNED_ZERO:
        return reason("SIGNED_ZERO", predicate=to_sql(expr))
    return reason("READER_LOSES_ROWS", predicate=to_sql(expr), format="Parquet", then="")


def _constants(node: Expr) -> Iterator[tuple[Value, DataType]]:
    match node:
        case Literal(value=value, type=data_type) if data_type is not None:
            yield value, data_type
        case In(value=value, options=options):
            listed = type_of(value)
            if listed is not None:
                for option in options:
                    yield option, listed


def _loss(constant: Value, data_type: DataType) -> ReaderLoss | None:
    if data_type.is_floating:
        return ReaderLoss.SIGNED_ZERO if constant == 0 else None
    if data_type.is_decimal and isinstance(constant, Decimal | int):
        unscaled = abs(Decimal(constant).scaleb(data_type.scale or 0))
        return ReaderLoss.WIDE_DECIMAL if unscaled >= 1 << 31 else None
    if not isinstance(constant, int):
        return None
    if data_type.name == "date":
        return ReaderLoss.CALENDAR_GAP if constant in _GAP else None
    if data_type.name in ("timestamp", "timestamp_ntz"):
        if constant % 1000:
            return ReaderLoss.SUBMILLISECOND
        return ReaderLoss.CALENDAR_GAP if constant // _MICROSECONDS_PER_DAY in _GAP else None
    return None
