"""The lifting rules compared with partitions: tight if and only if each partition is decided."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import pairwise, product
from typing import Any

import pytest

from tamis.classification.lifting import (
    LiftingRule,
    best,
    lifting_rule,
    null_lifting_rule,
    partition_of,
    prefix_lifting_rule,
    weakest,
)
from tamis.expr.nodes import Column, Compare, Comparison, Literal
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tamis.files.partition import Transform
from tests.differential.rows import row_value

DAY = 86_400_000_000
HOUR = DAY // 24
SHORT_DECIMAL, WIDE = decimal(9, 2), decimal(30, 6)


def days(year: int, month: int, day: int) -> int:
    return datetime.date(year, month, day).toordinal() - datetime.date(1970, 1, 1).toordinal()


def date_of(day: int) -> datetime.date:
    return datetime.date(1970, 1, 1) + datetime.timedelta(days=day)


def ends(starts: list[int]) -> list[int]:
    """Return the first two and last two values of each period, and one in between."""
    chosen = set()
    for start, following in pairwise(starts):
        chosen |= {start, start + 1, (start + following) // 2, following - 2, following - 1}
    return sorted(chosen)


_MONTHS = [days(year, month, 1) for year in (2023, 2024) for month in range(1, 13)]
_DAYS = ends(_MONTHS)
_MOMENTS_OF_MONTHS = ends([each * DAY for each in _MONTHS[::3]])
_MOMENTS_OF_DAYS = ends([days(2024, 2, 27) * DAY + step * DAY for step in range(5)])
_MOMENTS_OF_HOURS = ends([days(2024, 2, 29) * DAY + step * HOUR for step in range(-3, 4)])
_TEXTS = ["", "a", "aa", "aaa", "ab", "abc", "abd", "ac", "b", "ba", "é", "éé", "ééa"]

#: Type, transform, values in order, and the partition value of each.
Line = tuple[DataType, str, list[Any], Callable[[Any], Any]]
TABLE: list[Line] = [
    *((data_type, f"truncate[{width}]", list(range(-12, 13)), lambda v, w=width: v - v % w) for data_type in (INTEGER, LONG) for width in (1, 3, 10)),
    (SHORT_DECIMAL, "truncate[50]", [Decimal(f"{v}E-2") for v in range(-100, 100)], lambda v: int(v * 100) // 50),
    (WIDE, "truncate[50]", [Decimal(f"{v}E-6") for v in range(-50, 100)], lambda v: int(v * 10**6) // 50),
    *((STRING, f"truncate[{width}]", _TEXTS, lambda v, w=width: v[:w]) for width in (1, 2, 3)),
    *((BINARY, f"truncate[{width}]", sorted(v.encode() for v in _TEXTS), lambda v, w=width: v[:w]) for width in (1, 2)),
    (DATE, "day", _DAYS, lambda v: v),
    (DATE, "month", _DAYS, lambda v: (date_of(v).year, date_of(v).month)),
    (DATE, "year", _DAYS, lambda v: date_of(v).year),
    *((data_type, "day", _MOMENTS_OF_DAYS, lambda v: v // DAY) for data_type in (TIMESTAMP, TIMESTAMP_NTZ)),
    (TIMESTAMP, "hour", _MOMENTS_OF_HOURS, lambda v: v // HOUR),
    (TIMESTAMP, "month", ends([each * DAY for each in _MONTHS[:9]]), lambda v: (date_of(v // DAY).year, date_of(v // DAY).month)),
    (TIMESTAMP_NTZ, "year", _MOMENTS_OF_MONTHS, lambda v: date_of(v // DAY).year),
    *((data_type, "identity", list(range(5)), lambda v: v) for data_type in (INTEGER, DATE)),
]  # fmt: skip


def parsed(text: str) -> Transform:
    transform = Transform.parse(text)
    assert transform is not None
    return transform


@pytest.mark.parametrize("line", TABLE, ids=lambda line: f"{line[0]} {line[1]}")
def test_rule_is_tight_iff_every_partition_is_decided(line: Line) -> None:
    data_type, transform, values, partition = line
    column = Column(("c",), data_type)
    partitions = defaultdict[Any, list[Any]](list)
    for each in values:
        partitions[partition(each)].append(each)
    # The first and the last partition of these values may have more values.
    inner = values[len(partitions[partition(values[0])]) : -len(partitions[partition(values[-1])])]
    if data_type in (STRING, BINARY):  # longer values may share the partition
        for each in values:
            longer = each + ("\0" if data_type == STRING else b"\0")
            partitions[partition(longer)].append(longer)
    for op, constant in product(Comparison, inner):
        predicate = Compare(op, column, Literal(constant, data_type))
        truths = {
            each: row_value(predicate, {("c",): each})
            for members in partitions.values()
            for each in members
        }
        decided = all(
            len({truths[each] for each in members}) == 1 for members in partitions.values()
        )
        rule = lifting_rule(parsed(transform), op, constant, data_type)
        expected = LiftingRule.TIGHT if decided else LiftingRule.CONSERVATIVE
        assert rule is expected, (op, constant)


@pytest.mark.parametrize("line", TABLE, ids=lambda line: f"{line[0]} {line[1]}")
def test_constants_at_the_ends_of_a_partition(line: Line) -> None:
    data_type, transform, values, partition = line
    if transform == "identity":
        return
    for value in values:
        ends_of_partition = partition_of(parsed(transform), value, data_type)
        assert ends_of_partition is not None
        first, last = ends_of_partition
        together = [each for each in values if partition(each) == partition(value)]
        assert first <= min(together), value
        is_cut = data_type in (STRING, BINARY) and len(value) >= int(transform[9:-1])
        assert (last is None) == is_cut, value  # strings with a common prefix have no last one
        if last is None:
            continue
        assert max(together) <= last, value
        assert all(not first <= each <= last or each in together for each in values), value


#: Writers may file values of 1970 and before one period late.
@pytest.mark.parametrize(
    ("data_type", "transform", "constant", "op", "rule"),
    [
        (DATE, "day", 0, "<", "tight"),
        (DATE, "day", -1, "<=", "tight"),
        *((DATE, "month", 0, op, "conservative") for op in ("<", ">=", "=")),
        *((DATE, "month", 30, op, "tight") for op in ("<=", ">")),
        *((DATE, "month", 31, op, "tight") for op in ("<", ">=")),
        (DATE, "month", -1, "<=", "conservative"),
        *((DATE, "year", 364, op, "tight") for op in ("<=", ">")),
        (DATE, "year", 365, "<", "tight"),
        (DATE, "year", 0, "<", "conservative"),
        *((TIMESTAMP, "day", 0, op, "conservative") for op in ("<", ">=")),
        (TIMESTAMP, "day", DAY - 1, "<=", "tight"),
        (TIMESTAMP, "day", DAY, "<", "tight"),
        (TIMESTAMP, "day", -1, "<=", "conservative"),
        (TIMESTAMP, "hour", HOUR, ">=", "tight"),
        (TIMESTAMP, "hour", HOUR - 1, ">", "tight"),
        (TIMESTAMP, "hour", 0, "<", "conservative"),
    ],
)
def test_rules_around_1970(
    data_type: DataType, transform: str, constant: int, op: str, rule: str
) -> None:
    assert lifting_rule(parsed(transform), Comparison(op), constant, data_type) == rule


@pytest.mark.parametrize("op", Comparison, ids=str)
def test_buckets_support_only_equality(op: Comparison) -> None:
    expected = "conservative" if op in ("=", "<=>") else "none"
    assert lifting_rule(parsed("bucket[4]"), op, 5, LONG) == expected
    assert lifting_rule(parsed("bucket[4]"), op, 5.0, DOUBLE) == "none"
    assert lifting_rule(parsed("void"), op, 5, LONG) == "none"


#: Transforms, and the types to which they apply.
APPLIES: list[tuple[str, Iterable[DataType]]] = [
    ("identity", (LONG, DOUBLE, BOOLEAN, STRING, DATE, TIMESTAMP)),
    ("bucket[4]", (LONG, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, SHORT_DECIMAL)),
    ("truncate[4]", (LONG, STRING, BINARY, SHORT_DECIMAL, WIDE)),
    ("year", (DATE, TIMESTAMP, TIMESTAMP_NTZ)),
    ("month", (DATE, TIMESTAMP, TIMESTAMP_NTZ)),
    ("day", (DATE, TIMESTAMP, TIMESTAMP_NTZ)),
    ("hour", (TIMESTAMP, TIMESTAMP_NTZ)),
    ("void", ()),
]
EVERY = (LONG, DOUBLE, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, SHORT_DECIMAL, WIDE)


@pytest.mark.parametrize(("transform", "types"), APPLIES, ids=lambda each: str(each)[:12])
def test_every_applicable_transform_decides_is_null(
    transform: str, types: Iterable[DataType]
) -> None:
    for data_type in EVERY:
        applies = data_type in types or transform == "identity"
        expected = LiftingRule.TIGHT if applies else LiftingRule.NONE
        if transform == "bucket[4]" and data_type == WIDE:
            continue
        assert null_lifting_rule(parsed(transform), data_type) is expected, data_type
        if not applies:
            assert lifting_rule(parsed(transform), Comparison.EQUAL, 1, data_type) == "none"


@pytest.mark.parametrize("value", [None, True, 1.5, "x", b"x", Decimal("1.5")])
def test_constants_of_another_type_have_no_partition(value: Any) -> None:
    assert partition_of(parsed("truncate[10]"), value, INTEGER) is None
    assert partition_of(parsed("month"), value, DATE) is None
    if not isinstance(value, str | bytes):
        assert partition_of(parsed("truncate[2]"), value, STRING) is None


@pytest.mark.parametrize("width", [1, 2, 3])
def test_prefix_is_decided_iff_every_partition_agrees(width: int) -> None:
    """LIKE 'prefix%' is decided if all strings of each partition agree."""
    texts = [*_TEXTS, *(f"{each}z" for each in _TEXTS)]
    partitions = defaultdict[str, list[str]](list)
    for each in texts:
        partitions[each[:width]].append(each)
    for prefix in ("a", "ab", "abc", "é", "éé"):
        decided = all(
            len({each.startswith(prefix) for each in members}) == 1
            for members in partitions.values()
        )
        rule = prefix_lifting_rule(parsed(f"truncate[{width}]"), prefix)
        assert (rule is LiftingRule.TIGHT) == (len(prefix) <= width), prefix
        assert rule is (LiftingRule.TIGHT if decided else LiftingRule.CONSERVATIVE), prefix
    assert prefix_lifting_rule(parsed("identity"), "abc") is LiftingRule.TIGHT
    for other in ("bucket[4]", "void", "day"):
        assert prefix_lifting_rule(parsed(other), "a") is LiftingRule.NONE


def test_best_field_and_weakest_constant_decide() -> None:
    none, conservative, tight = LiftingRule.NONE, LiftingRule.CONSERVATIVE, LiftingRule.TIGHT
    for rules in product((none, conservative, tight), repeat=2):
        assert best(rules) is (
            tight if tight in rules else conservative if conservative in rules else none
        )
        assert weakest(rules) is (
            none if none in rules else conservative if conservative in rules else tight
        )
    assert best(()) is weakest(()) is none
