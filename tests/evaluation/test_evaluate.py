"""Edge cases of `tamis.evaluate`: missing, corrupt and differently typed statistics."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis.expr.nodes import And, Call, Column, Compare, Comparison, Expr, IsNull, Literal, Not
from tamis.expr.types import DOUBLE, LONG, STRING, TIMESTAMP
from tests.cases.case import compare, is_in

c = Column(("c",), LONG)
d = Column(("d",), DOUBLE)
s = Column(("s",), STRING)
ts = Column(("ts",), TIMESTAMP)
ABOVE = compare(">", c, 5)


def evaluate(predicate: Expr, spec: tuple[tamis.PartitionField, ...] = (), **columns: Any) -> Any:
    table = pa.table({name.replace("__", "."): value for name, value in columns.items()})
    return tamis.evaluate(predicate, table, spec).to_pylist()


def test_verdict_without_statistics_is_some() -> None:
    assert evaluate(ABOVE, path=["a", "b"]) == ["some", "some"]


def test_empty_table_has_an_empty_result() -> None:
    assert evaluate(ABOVE, path=[]) == []


def test_result_is_an_array_of_strings() -> None:
    assert tamis.evaluate(ABOVE, pa.table({"path": ["a"]})).type == pa.string()


def test_unknown_null_count_is_not_taken_as_zero() -> None:
    cells = {"min__c": [6, 6, 6], "max__c": [7, 7, 7], "null_count__c": [0, 1, None]}
    assert evaluate(ABOVE, **cells) == ["all", "some", "some"]
    assert evaluate(IsNull(c), **cells) == ["none", "some", "some"]


def test_all_null_column_follows_from_counts_alone() -> None:
    cells = {"null_count__c": [3, 3, 3], "num_records": [3, 4, None]}
    assert evaluate(ABOVE, **cells) == ["none", "some", "some"]
    assert evaluate(IsNull(c), **cells) == ["all", "some", "some"]


@pytest.mark.parametrize("num_records", [[0], pa.array([0], pa.int32())])
def test_verdict_of_an_empty_file_is_none(num_records: Any) -> None:
    assert evaluate(Literal(True, LONG), num_records=num_records) == ["none"]
    assert evaluate(Not(ABOVE), num_records=num_records, null_count__c=[0]) == ["none"]


@pytest.mark.parametrize(
    "witness",
    [{"min__c": [6]}, {"max__other": ["z"]}, {"null_count__c": [2]}, {"nan_count__d": [1]}],
)
def test_contradicted_row_count_of_zero_is_ignored(witness: dict[str, Any]) -> None:
    assert evaluate(compare("=", c, 7), num_records=[0], **witness) == ["some"]


def test_one_known_bound_can_decide() -> None:
    assert evaluate(ABOVE, max__c=[5], null_count__c=[0]) == ["none"]
    assert evaluate(ABOVE, min__c=[6], null_count__c=[0]) == ["all"]


@pytest.mark.parametrize(
    "corrupt",
    [
        {"min__c": [9], "max__c": [6], "null_count__c": [0]},
        {"min__c": [6], "max__c": [9], "null_count__c": [-1]},
        {"min__c": [6], "max__c": [9], "null_count__c": [5], "num_records": [4]},
        {"min__c": [6], "max__c": [9], "null_count__c": [4], "num_records": [4]},
        {"min__c": ["6"], "max__c": ["9"], "null_count__c": [0]},
        {"min__c": [6.0], "max__c": [9.0], "null_count__c": [0]},
    ],
)
@pytest.mark.parametrize("predicate", [ABOVE, compare("<", c, 5), IsNull(c), Not(IsNull(c))])
def test_corrupt_statistics_prove_nothing(corrupt: dict[str, Any], predicate: Expr) -> None:
    assert evaluate(predicate, **corrupt) == ["some"]


@pytest.mark.parametrize("bounds", [(math.nan, 9.0), (6.0, math.nan), (math.nan, math.nan)])
def test_nan_bounds_prove_nothing(bounds: tuple[float, float]) -> None:
    cells = {
        "min__d": [bounds[0]],
        "max__d": [bounds[1]],
        "null_count__d": [0],
        "nan_count__d": [0],
    }
    for op in Comparison:
        assert evaluate(compare(op, d, 1.0), **cells) == ["some"]


def test_unknown_nan_count_allows_nan() -> None:
    cells = {"min__d": [1.0], "max__d": [2.0], "null_count__d": [0]}
    assert evaluate(compare(">", d, 5.0), **cells) == ["some"]
    assert evaluate(compare("<", d, 5.0), **cells) == ["some"]
    assert evaluate(compare(">", d, 5.0), **cells, nan_count__d=[0]) == ["none"]
    assert evaluate(compare("<", d, 5.0), **cells, nan_count__d=[0]) == ["all"]
    # Below the minimum there is neither a value nor NaN.
    assert evaluate(compare("<", d, 1.0), **cells) == ["none"]


@pytest.mark.parametrize(
    "as_type",
    [
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.dictionary(pa.int8(), pa.large_string()),
    ],
)
def test_all_arrow_string_types_are_read(as_type: pa.DataType) -> None:
    def column(value: str) -> pa.Array:
        plain = pa.array([value])
        return (
            plain.dictionary_encode().cast(as_type)
            if "dict" in str(as_type)
            else plain.cast(as_type)
        )

    cells = {"min__s": column("b"), "max__s": column("d"), "null_count__s": [0]}
    assert evaluate(compare("=", s, "e"), **cells) == ["none"]
    assert evaluate(compare(">=", s, "b"), **cells) == ["all"]


def test_chunked_columns_are_read() -> None:
    chunked = pa.chunked_array([[1], [9, 3]])
    cells = {"min__c": chunked, "max__c": chunked, "null_count__c": pa.chunked_array([[0, 0], [0]])}
    assert evaluate(ABOVE, **cells) == ["none", "all", "none"]


def test_duplicate_column_is_unknown() -> None:
    arrays = [pa.array([6]), pa.array([1]), pa.array([7]), pa.array([0])]
    table = pa.table(arrays, names=["min.c", "min.c", "max.c", "null_count.c"])
    assert tamis.evaluate(ABOVE, table).to_pylist() == ["some"]
    assert tamis.evaluate(compare(">", c, 7), table).to_pylist() == ["none"]


def test_column_with_a_dot_is_not_a_struct_field() -> None:
    dotted_column, field = Column(("b.c",), LONG), Column(("b", "c"), LONG)
    table = pa.table({"min.b.c": [6], "min.`b.c`": [1], "max.`b.c`": [2]})
    assert tamis.evaluate(compare(">", dotted_column, 5), table).to_pylist() == ["none"]
    assert tamis.evaluate(compare("<", dotted_column, 2), table).to_pylist() == ["some"]
    assert tamis.evaluate(compare(">", field, 5), table).to_pylist() == ["some"]
    assert tamis.evaluate(compare("<", field, 5), table).to_pylist() == ["none"]


def test_column_with_a_dot_can_be_named_without_quotes() -> None:
    dotted_column = Column(("b.c",), LONG)
    table = pa.table({"min.b.c": [1], "max.b.c": [2], "null_count.b.c": [0]})
    assert tamis.evaluate(compare(">", dotted_column, 5), table).to_pylist() == ["none"]
    spec = (tamis.PartitionField("b.c", "identity", "p"),)
    table = pa.table({"partition.p": [7]})
    assert tamis.evaluate(compare(">", dotted_column, 5), table, spec).to_pylist() == ["all"]


def test_timestamps_of_every_unit_are_rounded_outwards() -> None:
    lower, upper = pa.array([-1_500], pa.timestamp("ns")), pa.array([1_500], pa.timestamp("ns"))
    cells = {"min__ts": lower, "max__ts": upper, "null_count__ts": [0]}
    assert evaluate(compare("=", ts, -2), **cells) == ["some"]
    assert evaluate(compare("=", ts, 2), **cells) == ["some"]
    assert evaluate(compare("=", ts, -3), **cells) == ["none"]
    assert evaluate(compare("=", ts, 3), **cells) == ["none"]


def test_bounds_of_other_integer_widths_are_read() -> None:
    cells = {
        "min__c": pa.array([6], pa.uint8()),
        "max__c": pa.array([7], pa.int32()),
        "null_count__c": pa.array([0], pa.int16()),
    }
    assert evaluate(ABOVE, **cells) == ["all"]


@pytest.mark.parametrize(
    "predicate",
    [
        Call("Soundex", (s,), (), STRING),
        Compare(Comparison.EQUAL, Call("Soundex", (s,), (), STRING), Literal("A100", STRING)),
        Compare(Comparison.LESS, c, Literal("5", STRING)),
        Compare(Comparison.LESS, c, Literal("5", LONG)),
        is_in(c, "5", 6),
        c,
        And((c, ABOVE)),
        s,
        None,
        "c > 5",
        And((ABOVE, None)),  # type: ignore[arg-type]
    ],
)
def test_verdict_of_an_unsupported_predicate_is_some(predicate: Any) -> None:
    cells = {"min__c": [7], "max__c": [8], "null_count__c": [0]}
    assert evaluate(predicate, **cells) == ["some"]


def test_verdict_of_a_too_deep_predicate_is_some() -> None:
    deep: Expr = ABOVE
    for _ in range(5_000):
        deep = Not(deep)
    assert evaluate(deep, min__c=[7]) == ["some"]


def test_partition_value_alone_can_decide() -> None:
    spec = (tamis.PartitionField("ts", "day", "d"),)
    day = 86_400_000_000
    ordinals = pa.array([0, 1, None], pa.int32())
    assert evaluate(compare("<", ts, day), spec, partition__d=ordinals) == ["all", "none", "some"]
    after = compare("<", ts, day + 1)
    assert evaluate(after, spec, partition__d=ordinals) == ["all", "some", "some"]
    assert evaluate(IsNull(ts), spec, partition__d=ordinals) == ["none", "none", "some"]
