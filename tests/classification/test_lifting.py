"""The lifting rules, line by line, and compared with the verdicts of evaluation."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import Capabilities, LiftingRule, PartitionField, classify, evaluate
from tamis.classification.lifting import has_boundary, lifting_rule
from tamis.expr.nodes import Call, Column, Comparison, Expr, Literal, Not
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    DATE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tamis.files.partition import Transform
from tests.cases.case import arrow_type
from tests.differential.generate import POOLS, partition_value, random_leaf

DAY = 86_400_000_000
TIGHT, CONSERVATIVE, NONE = LiftingRule.TIGHT, LiftingRule.CONSERVATIVE, LiftingRule.NONE
RANGES = "< <= > >="


@pytest.mark.parametrize(
    ("transform", "data_type", "value", "tight", "conservative", "none"),
    [
        ("identity", LONG, 5, "= <> <=> < <= > >=", "", ""),
        ("void", LONG, 5, "", "", "= <> <=> < <= > >="),
        ("bucket[16]", LONG, 5, "", "= <=>", "<> < <= > >="),
        ("day", TIMESTAMP, DAY, "< >=", "= <> <=> <= >", ""),
        ("day", TIMESTAMP, DAY - 1, "<= >", "= <> <=> < >=", ""),
        ("day", TIMESTAMP, DAY + 1, "", "= <> <=> < <= > >=", ""),
        # Up to 1970 a writer may have filed a value one period late.
        ("day", TIMESTAMP, -DAY, "", "= <> <=> < <= > >=", ""),
        ("day", TIMESTAMP, 0, "", "= <> <=> < <= > >=", ""),
        ("day", TIMESTAMP, -1, "", "= <> <=> < <= > >=", ""),
        ("day", DATE, -5, "= <> <=> < <= > >=", "", ""),
        ("hour", TIMESTAMP, 0, "", "= <> <=> < <= > >=", ""),
        ("hour", TIMESTAMP, 3_600_000_000, "< >=", "= <> <=> <= >", ""),
        ("hour", DATE, 5, "", "", "= <> <=> < <= > >="),
        ("month", DATE, -31, "", "= <> <=> < <= > >=", ""),
        ("month", DATE, -1, "", "= <> <=> < <= > >=", ""),
        ("month", DATE, 31, "< >=", "= <> <=> <= >", ""),
        ("month", DATE, 30, "<= >", "= <> <=> < >=", ""),
        ("year", DATE, -365, "", "= <> <=> < <= > >=", ""),
        ("year", DATE, 365, "< >=", "= <> <=> <= >", ""),
        ("year", TIMESTAMP_NTZ, 365 * DAY - 1, "<= >", "= <> <=> < >=", ""),
        ("truncate[10]", INTEGER, -10, "< >=", "= <> <=> <= >", ""),
        ("truncate[10]", INTEGER, -1, "<= >", "= <> <=> < >=", ""),
        ("truncate[10]", INTEGER, 5, "", "= <> <=> < <= > >=", ""),
        ("truncate[1]", LONG, 5, "= <> <=> < <= > >=", "", ""),
        ("truncate[50]", decimal(9, 2), Decimal("1.50"), "< >=", "= <> <=> <= >", ""),
        ("truncate[50]", decimal(9, 2), Decimal("1.99"), "<= >", "= <> <=> < >=", ""),
        ("truncate[2]", STRING, "ab", "< >=", "= <> <=> <= >", ""),
        ("truncate[2]", STRING, "a", "= <> <=> < <= > >=", "", ""),
        ("truncate[2]", STRING, "abc", "", "= <> <=> < <= > >=", ""),
        ("truncate[2]", BINARY, b"\xff", "= <> <=> < <= > >=", "", ""),
        ("truncate[2]", TIMESTAMP, 5, "", "", "= <> <=> < <= > >="),
    ],
)
def test_lifting_rule(
    transform: str, data_type: DataType, value: Any, tight: str, conservative: str, none: str
) -> None:
    parsed = Transform.parse(transform)
    assert parsed is not None
    for rule, ops in ((TIGHT, tight), (CONSERVATIVE, conservative), (NONE, none)):
        for op in ops.split():
            assert lifting_rule(parsed, Comparison(op), value, data_type) is rule, op


@pytest.mark.parametrize(
    ("transform", "data_type", "value", "first"),
    [
        ("day", TIMESTAMP, DAY + 7, DAY),
        ("month", DATE, 40, 31),
        ("year", DATE, 400, 365),
        ("year", DATE, 10, None),  # in 1970
        ("day", TIMESTAMP, -7, None),
        ("truncate[10]", INTEGER, -3, -10),
        ("truncate[50]", decimal(9, 2), Decimal("1.77"), Decimal("1.50")),
        ("truncate[3]", STRING, "abcdef", "abc"),
        ("bucket[16]", LONG, 5, None),
        ("void", LONG, 5, None),
        ("day", LONG, 5, None),
    ],
)
def test_advice_to_compare_with_a_boundary_makes_the_rule_tight(
    transform: str, data_type: DataType, value: Any, first: Any
) -> None:
    parsed = Transform.parse(transform)
    assert parsed is not None
    for op in RANGES.split():
        assert has_boundary(parsed, Comparison(op), value, data_type) == (first is not None), op
    for op in ("=", "<>", "<=>"):
        assert not has_boundary(parsed, Comparison(op), value, data_type)
    if first is not None:
        assert lifting_rule(parsed, Comparison.LESS, first, data_type) is TIGHT
        assert lifting_rule(parsed, Comparison.GREATER_EQUAL, first, data_type) is TIGHT


TRANSFORMS = [
    ("identity", data_type) for data_type in POOLS
] + [
    ("day", DATE), ("month", DATE), ("year", DATE),
    ("truncate[1]", STRING), ("truncate[2]", STRING), ("truncate[2]", BINARY),
    ("truncate[2]", INTEGER), ("truncate[50]", decimal(9, 2)),
]  # fmt: skip


@given(st.randoms(use_true_random=False), st.sampled_from(TRANSFORMS))
def test_statically_exact_predicates_decide_every_file(
    random: Random, partitioned: tuple[str, DataType]
) -> None:
    """Static exactness matches evaluation: each file of a known partition is none or all."""
    transform, data_type = partitioned
    column = Column(("c",), data_type)
    field = PartitionField("c", transform, "p")
    # The ends of 32-bit and 64-bit numbers wrap around under truncate, so verdicts there are
    # unknown.
    pool = [v for v in POOLS[data_type][0] if transform != "truncate[2]" or abs_small(v)]
    values = [partition_value(field, [column], {("c",): value}) for value in pool]
    files = pa.table({"partition.p": pa.array(values, type_of_values(transform, data_type))})
    predicate = random_leaf(random, column, [column])
    if classify(predicate, Capabilities(partition_spec=[field])).pushdown == "exact":
        assert "some" not in evaluate(predicate, files, [field]).to_pylist()


def abs_small(value: Any) -> bool:
    return not isinstance(value, int) or abs(value) < 1 << 30


def type_of_values(transform: str, data_type: DataType) -> pa.DataType:
    same = transform == "identity" or transform.startswith("truncate")
    return arrow_type(data_type) if same else pa.int32()


@pytest.mark.parametrize(
    ("transform", "prefix", "pushdown"),
    [
        ("identity", "abcd", "exact"),
        ("truncate[2]", "", "exact"),
        ("truncate[2]", "a", "exact"),
        ("truncate[2]", "é\U0010ffff", "exact"),
        ("truncate[2]", "abc", "inexact"),
        ("bucket[4]", "a", "unsupported"),
        ("void", "a", "unsupported"),
    ],
)
def test_class_of_prefix_predicates(transform: str, prefix: str, pushdown: str) -> None:
    column, field = Column(("c",), STRING), PartitionField("c", transform, "p")
    starts: Expr = Call("StartsWith", (column, Literal(prefix, STRING)), (), BOOLEAN)
    values = ["", "a", "ab", "abc", "b", "é\U0010ffff", "é\U0010ffffz", "\U0010ffff"]
    cells = [partition_value(field, [column], {("c",): value}) for value in values]
    files = pa.table({"partition.p": pa.array(cells, type_of_values(transform, STRING))})
    for predicate in (starts, Not(starts)):
        result = classify(predicate, Capabilities(partition_spec=[field]))
        assert result.pushdown == pushdown
        verdicts = evaluate(predicate, files, [field]).to_pylist()
        for value, verdict in zip(values, verdicts, strict=True):
            is_true = value.startswith(prefix) != isinstance(predicate, Not)
            # A cut value does not tell strings apart that begin as the prefix.
            is_decided = pushdown == "exact" or (
                pushdown == "inexact" and not value.startswith(prefix[:2])
            )
            assert verdict == (("all" if is_true else "none") if is_decided else "some")
