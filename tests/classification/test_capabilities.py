"""What statistics and partition specs can do, and the reasons that follow."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tamis import Capabilities, PartitionField, Pushdown, classify
from tamis.classification.capabilities import capabilities_of
from tamis.classification.lifting import LiftingRule, lifting_rule
from tamis.evaluation.udf.udf_contract import Contract
from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    IsNull,
    Literal,
    Not,
    Opaque,
    Or,
)
from tamis.expr.types import DATE, LONG, STRING
from tamis.files.partition import Transform
from tamis.files.table import ArrowStatistics
from tests.cases.case import compare
from tests.evaluation.test_declared_calls import declared

a, b, c = (Column((name,), LONG) for name in "abc")
DIRECTORIES = Capabilities(
    statistics=["c"],
    partition_spec=[PartitionField("a", "identity", "a"), PartitionField("b", "identity", "b")],
)


def test_every_field_of_the_spec_has_a_partition_column() -> None:
    assert [DIRECTORIES.is_partition_column(name) for name in "abc"] == [True, True, False]


@pytest.mark.parametrize(
    ("left", "right", "pushdown"),
    [
        (a, b, Pushdown.EXACT),
        (a, c, Pushdown.INEXACT),
        (c, a, Pushdown.INEXACT),
        (c, c, Pushdown.INEXACT),
    ],
)
def test_columns_are_compared_exactly_only_if_both_have_one_value_per_file(
    left: Column, right: Column, pushdown: Pushdown
) -> None:
    assert classify(Compare(Comparison.LESS, left, right), DIRECTORIES).pushdown is pushdown


def test_reason_of_a_branch_has_its_fix() -> None:
    opaque = Opaque("f(c)")
    (alone, both, either) = (
        classify(each, DIRECTORIES).reason
        for each in (
            compare("=", Column(("d",), LONG), 5),
            And((compare("=", Column(("d",), LONG), 5), compare("=", c, 5))),
            Or((compare("=", Column(("d",), LONG), 5), compare("=", c, 5))),
        )
    )
    assert alone is not None
    assert alone.fix
    for why in (both, either):
        assert why is not None
        assert alone.text in why.text
        assert alone.fix in (why.fix or "")
    without = classify(And((opaque, compare("=", c, 5))), DIRECTORIES).reason
    assert without is not None
    assert "None" not in f"{without.text} {without.fix}"


def test_predicate_on_a_declared_function_says_so() -> None:
    contract = Contract("f", monotone=lambda x: x, types=["BIGINT"])
    call = Call("udf:f", (c,), (), LONG)
    above = Compare(Comparison.GREATER, call, Literal(5, LONG))
    why = classify(declared(contract, above), DIRECTORIES).reason
    assert why is not None
    assert why.code == "DECLARED_FUNCTION"


def test_recorded_expression_needs_no_statistics_of_its_columns() -> None:
    """Not even if it is a function that tamis does not know."""
    d = Column(("d",), STRING)
    recorded = Capabilities(statistics=["c"], expressions=["upper(d)", "f(d)"])
    upper, unknown = Call("Upper", (d,), (), STRING, "upper(d)"), Opaque("f(d)", (("d",),), "f(d)")
    text = Literal("X", STRING)
    for predicate, code in (
        (Compare(Comparison.EQUAL, upper, text), "VALUES_MIXED"),
        (unknown, "VALUES_MIXED"),
        (Compare(Comparison.EQUAL, Call("Length", (upper,), (), LONG), c), "RANGES_OVERLAP"),
    ):
        result = classify(predicate, recorded)
        assert result.pushdown is Pushdown.INEXACT
        assert result.reason is not None
        assert result.reason.code == code
        assert classify(predicate, DIRECTORIES).pushdown is Pushdown.UNSUPPORTED


# Statistics of c and d in two files; the columns with bounds, and those with NULL counts.
KNOWN: list[tuple[dict[str, list[object]], set[str], set[str]]] = [
    ({"min.c": [1, 2], "max.c": [3, 4]}, {"c"}, set()),
    ({"min.c": [1, 2]}, {"c"}, set()),
    ({"max.c": [1, 2]}, {"c"}, set()),
    ({"null_count.c": [0, 5]}, set(), {"c"}),
    ({"null_count.c": [3, 5]}, set(), {"c"}),
    ({"null_count.c": [3, None]}, set(), {"c"}),
    ({"null_count.c": [None, 3]}, set(), {"c"}),
    ({"null_count.c": [0, 0]}, set(), {"c"}),
    ({"min.d": [1, 2]}, {"d"}, set()),
    ({"null_count.d": [3, 5]}, set(), set()),  # no IS NULL needs it
    ({"null_count.d": [3, 0]}, set(), {"d"}),
    ({}, set(), set()),
]


@pytest.mark.parametrize(("cells", "bounded", "counted"), KNOWN)
def test_capabilities_follow_from_statistics(
    cells: dict[str, list[object]], bounded: set[str], counted: set[str]
) -> None:
    columns = {name: pa.array(each, pa.int64()) for name, each in cells.items()}
    table = ArrowStatistics(pa.table(columns | {"num_records": [9, 9]}))
    d = Column(("d",), LONG)
    expr = And((Not(IsNull(c)), compare("=", d, 5)))
    capabilities = capabilities_of(expr, [table])
    assert (set(capabilities.statistics), set(capabilities.null_counts or ())) == (bounded, counted)


def test_null_counts_of_one_column_do_not_serve_another() -> None:
    table = ArrowStatistics(pa.table({"null_count.c": [3], "num_records": [9]}))
    assert classify(IsNull(c), capabilities_of(IsNull(c), [table])).pushdown is Pushdown.INEXACT
    unknown = ArrowStatistics(pa.table({"num_records": [9]}))
    for tables in ([unknown], []):
        found = classify(IsNull(c), capabilities_of(IsNull(c), tables))
        assert found.pushdown is Pushdown.UNSUPPORTED


@pytest.mark.parametrize("transform", ["truncate[2]", "month"])
def test_constant_without_a_partition_is_conservative(transform: str) -> None:
    parsed = Transform.parse(transform)
    assert parsed is not None
    column_type = STRING if transform.startswith("truncate") else DATE
    for op in Comparison:
        assert lifting_rule(parsed, op, None, column_type) is LiftingRule.CONSERVATIVE
