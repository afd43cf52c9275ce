"""The lifting rules, which turn a predicate on a column into one on its partition value.

    transform             =  <=>  IN             <>  NOT IN      <  >=          <=  >
    identity              tight                  tight           tight          tight
    year month day hour   tight if the constant  the same        tight if it    tight if it
    truncate[w]           is a whole partition                   starts one     ends one
    bucket[n]             conservative           none            none           none
    void                  none                   none            none           none

If the condition of a "tight if" is not met, the rule is conservative. It is also conservative for
time transforms up to 1970: writers that round toward zero put such values one period too late
(transforms.earliest), so the partition that starts at the constant may hold values before it.
[NOT] LIKE 'prefix%' is tight for identity, and for truncate[w] with a prefix of up to w characters.
IS [NOT] NULL is tight for all transforms except void: a transform returns NULL only for NULL.

- Tight: the partition value alone decides whether all rows of a file match or none does.
- Conservative: the partition value rules out files.
- None: the partition value proves nothing.

A constant is a whole partition if no other value shares its partition value: a date under `day`, or
a string shorter than the width of `truncate`.

Source: Iceberg's `Projections` (inclusive and strict). A rule is tight where both agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

import numpy as np

from tamis.evaluation.domain.buckets import is_hashed
from tamis.expr.decimals import from_unscaled, unscaled
from tamis.expr.nodes import CalendarInterval, Comparison, Value
from tamis.expr.types import DataType
from tamis.files.partition import Transform, TransformKind

__all__ = [
    "LiftingRule",
    "best",
    "has_boundary",
    "lifting_rule",
    "null_lifting_rule",
    "partition_of",
    "prefix_lifting_rule",
    "weakest",
]


class LiftingRule(StrEnum):
    """How strongly the partition value of a file decides a predicate on the source column."""

    TIGHT = "tight"  # it decides the predicate for every file
    CONSERVATIVE = "conservative"  # it rules out files, but rows of some files have to be filtered
    NONE = "none"  # it rules out no file


_MICROSECONDS_PER: Final = {TransformKind.HOUR: 3_600_000_000, TransformKind.DAY: 86_400_000_000}
_UNITS: Final = {TransformKind.YEAR: "Y", TransformKind.MONTH: "M", TransformKind.DAY: "D"}

_EQUALITIES: Final = (Comparison.EQUAL, Comparison.NULL_SAFE_EQUAL)
_ORDERINGS: Final = (
    Comparison.LESS,
    Comparison.LESS_EQUAL,
    Comparison.GREATER,
    Comparison.GREATER_EQUAL,
)


def lifting_rule(
    transform: Transform, op: Comparison, value: Value, data_type: DataType
) -> LiftingRule:
    """Return the rule for `column op value` of a column that is partitioned by the transform.

    >>> from tamis.expr.types import DATE
    >>> month = Transform.parse("month")
    >>> str(lifting_rule(month, Comparison.LESS, 31, DATE))  # before 1970-02-01
    'tight'
    >>> str(lifting_rule(month, Comparison.LESS, 40, DATE))  # before 1970-02-10
    'conservative'
    """
    if not _applies(transform.kind, data_type):
        return LiftingRule.NONE
    match transform.kind:
        case TransformKind.IDENTITY:
            return LiftingRule.TIGHT
        case TransformKind.BUCKET:
            # The bucket of a constant shows which files may hold it, but never that a file holds
            # nothing else. Hashes do not have the order of the values.
            return LiftingRule.CONSERVATIVE if op in _EQUALITIES else LiftingRule.NONE
    partition = partition_of(transform, value, data_type)
    if partition is None:
        return LiftingRule.CONSERVATIVE
    first, last = partition
    if _is_filed_late(transform.kind, data_type):
        # A file of ordinal 1 or later holds only values of its period. A file of ordinal 0 or below
        # may hold earlier values, but no later ones. So the first boundary that can be trusted is
        # the one between ordinals 0 and 1.
        first = first if first > 0 else None
        last = last if last is not None and last >= 0 else None
    match op:
        case Comparison.LESS | Comparison.GREATER_EQUAL:
            # The constant starts its partition, so all smaller values lie in earlier partitions.
            on_boundary = value == first
        case Comparison.LESS_EQUAL | Comparison.GREATER:
            on_boundary = value == last
        case _:
            on_boundary = value == first == last
    return LiftingRule.TIGHT if on_boundary else LiftingRule.CONSERVATIVE


def has_boundary(transform: Transform, op: Comparison, value: Value, data_type: DataType) -> bool:
    """Return whether `<` and `>=` are tight for the first value of the constant's partition.

    >>> from tamis.expr.types import DATE, LONG
    >>> has_boundary(Transform.parse("month"), Comparison.LESS, 40, DATE)
    True
    >>> has_boundary(Transform.parse("bucket[16]"), Comparison.EQUAL, 40, LONG)
    False
    """
    if op not in _ORDERINGS or not _applies(transform.kind, data_type):
        return False
    partition = partition_of(transform, value, data_type)
    if partition is None:
        return False
    return lifting_rule(transform, Comparison.LESS, partition[0], data_type) is LiftingRule.TIGHT


def _is_filed_late(kind: TransformKind, data_type: DataType) -> bool:
    """Return whether some writers put values before 1970 into a partition one period too late."""
    return kind.is_time and not (kind is TransformKind.DAY and _is_date(data_type))


def null_lifting_rule(transform: Transform, data_type: DataType) -> LiftingRule:
    """Return the rule for `column IS NULL`."""
    return LiftingRule.TIGHT if _applies(transform.kind, data_type) else LiftingRule.NONE


def prefix_lifting_rule(transform: Transform, prefix: str) -> LiftingRule:
    """Return the rule for `column LIKE 'prefix%'` of a string column.

    >>> str(prefix_lifting_rule(Transform.parse("truncate[3]"), "ab"))
    'tight'
    """
    match transform.kind:
        case TransformKind.IDENTITY:
            return LiftingRule.TIGHT
        case TransformKind.TRUNCATE:
            # All strings of a partition begin with its value, and equal it if it is shorter than
            # the width. So a prefix that is not longer than the width is a prefix of that value,
            # and so of all of these strings, or of none of them.
            is_within = len(prefix) <= (transform.parameter or 0)
            return LiftingRule.TIGHT if is_within else LiftingRule.CONSERVATIVE
        case _:
            return LiftingRule.NONE


_STRENGTH: Final = (LiftingRule.NONE, LiftingRule.CONSERVATIVE, LiftingRule.TIGHT)


def best(rules: Iterable[LiftingRule]) -> LiftingRule:
    """Return the strongest rule: of several fields of a column, one that decides is enough."""
    return max(rules, key=_STRENGTH.index, default=LiftingRule.NONE)


def weakest(rules: Iterable[LiftingRule]) -> LiftingRule:
    """Return the weakest rule: of several constants, each has to be decided."""
    return min(rules, key=_STRENGTH.index, default=LiftingRule.NONE)


def partition_of(
    transform: Transform, value: Value, data_type: DataType
) -> tuple[Any, Any | None] | None:
    """Return the first and the last value of the partition of a constant, or None if not known.

    The last value is None if there is none, as for the strings that share a prefix.

    >>> from tamis.expr.types import INTEGER, STRING
    >>> partition_of(Transform.parse("truncate[10]"), -3, INTEGER)
    (-10, -1)
    >>> partition_of(Transform.parse("truncate[2]"), "abc", STRING)
    ('ab', None)
    """
    if isinstance(value, bool | float | CalendarInterval) or value is None:
        return None
    if isinstance(value, str | bytes) != data_type.is_text:
        return None
    if transform.kind is TransformKind.TRUNCATE:
        return _truncated(transform.parameter or 1, value, data_type)
    if not isinstance(value, int) or not transform.kind.is_time:
        return None
    return _period(transform.kind, value, data_type)


def _applies(kind: TransformKind, data_type: DataType) -> bool:
    """Return whether the transform takes values of the type and restricts them."""
    match kind:
        case TransformKind.IDENTITY:
            return True
        case TransformKind.VOID:
            return False
        case TransformKind.BUCKET:
            return is_hashed(data_type)
        case TransformKind.TRUNCATE:
            return data_type.is_text or data_type.is_integral or data_type.is_decimal
    if _is_date(data_type):
        return kind is not TransformKind.HOUR
    return data_type.name in ("timestamp", "timestamp_ntz")


def _is_date(data_type: DataType) -> bool:
    return data_type.name == "date"


def _truncated(
    width: int, value: int | Decimal | str | bytes, data_type: DataType
) -> tuple[Any, Any | None] | None:
    if isinstance(value, str | bytes):
        # A string shorter than the width is its own partition value, and shares it with no other.
        return (value, value) if len(value) < width else (value[:width], None)
    scale = data_type.scale or 0
    try:
        whole = unscaled(value, scale)
    except ValueError:
        return None
    first = whole - whole % width
    last = first + width - 1
    if not data_type.is_decimal:
        return first, last
    return from_unscaled(first, scale), from_unscaled(last, scale)


def _period(kind: TransformKind, value: int, data_type: DataType) -> tuple[int, int] | None:
    is_date = _is_date(data_type)
    if kind is TransformKind.HOUR or not is_date:
        size = _MICROSECONDS_PER.get(kind)
        if size is not None:
            first = value - value % size
            return first, first + size - 1
    days = value if is_date else value // _MICROSECONDS_PER[TransformKind.DAY]
    ordinal = np.datetime64(days, "D").astype(f"datetime64[{_UNITS[kind]}]")
    first_day = int(ordinal.astype("datetime64[D]").astype(np.int64))
    last_day = int((ordinal + 1).astype("datetime64[D]").astype(np.int64)) - 1
    if is_date:
        return first_day, last_day
    day = _MICROSECONDS_PER[TransformKind.DAY]
    return first_day * day, (last_day + 1) * day - 1
