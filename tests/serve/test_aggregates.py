"""Aggregate goals on the wire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.files.segments import Segment
from tamis.plan.scan_decision import ScanDecision
from tamis.serve.goals.aggregates import answer_aggregates
from tamis.serve.goals.goal_context import GoalContext
from tamis.serve.process.handler import Handler
from tamis.tables.partitions import DirectoryStatistics
from tamis.tables.scan_input import ScanInput
from tamis.wire.goals import AggregateAnswer, AggregateDocument, AggregateGoal, NothingAnswer
from tamis.wire.messages import VERSION
from tests.indexing.local import LocalIndex, spark_schema, uri_of, write_snapshot
from tests.plan.test_aggregate import Files

SCHEMA = spark_schema(a="long", s="string", b="binary", f="double", d="decimal(9,2)")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return three directories: a is 0 .. 9, 10 .. 19 and, in the last, 20 .. 29 with a NULL."""
    root = tmp_path / "t"
    for number in range(3):
        values = [*range(number * 10, number * 10 + 10), *([None] if number == 2 else [])]
        texts = [None if v is None else f"t{v:02}" for v in values]
        path = root / f"p={number}" / "f.parquet"
        path.parent.mkdir(parents=True)
        columns = {
            "a": pa.array(values, pa.int64()),
            "s": texts,
            "b": pa.array([None if t is None else t.encode() for t in texts], pa.binary()),
            "f": pa.array(values, pa.float64()),
            "d": pa.array(values, pa.decimal128(9, 2)),
        }
        pq.write_table(pa.table(columns), path)
    LocalIndex(root, SCHEMA, tmp_path / "scratch").build()
    return root


def column(name: str, data_type: str) -> dict[str, Any]:
    return {"n": "col", "p": [name], "t": data_type}


A, P, S = column("a", "long"), column("p", "integer"), column("s", "string")


def answer_of(
    root: Path,
    functions: list[Any],
    *conjuncts: Any,
    keys: list[int] | None = None,
    by: tuple[Any, ...] = (),
    sample: Any = None,
) -> dict[str, Any] | None:
    directory = root.parent / "snapshot"
    fingerprint, files = write_snapshot(root, directory, {"p": pa.array([0, 1, 2], pa.int32())})
    aggregates = [
        {"function": f, "argument": argument, "limit": str(2**63) if f == "sum" else None}
        for f, argument in functions
    ]
    request = {
        "version": VERSION,
        "id": "q1",
        "snapshot": {"fingerprint": fingerprint, "directory": str(directory), "files": files},
        "table": {"roots": [uri_of(root)], "partition_columns": [{"name": "p", "type": "integer"}]},
        "cache_directory": str(root.parent / "cache"),
        "conjuncts": conjuncts,
        "goal": {"kind": "aggregate", "aggregates": aggregates, "keys": keys, "by": by}
        | {"sample": sample},
    }
    answer = json.loads(Handler().plan(msgspec.json.encode(request).decode()))
    assert "error" not in answer
    goal: dict[str, Any] | None = answer["goal"]
    return goal


def less(limit: int) -> dict[str, Any]:
    literal = {"n": "lit", "t": "long", "v": limit}
    return {"n": "call", "f": "LessThan", "t": "boolean", "a": [A, literal]}


def test_every_file_is_covered(table: Path) -> None:
    result = answer_of(table, [("count", None), ("count", A), ("min", A), ("max", A)])
    assert result == {
        "kind": "aggregate",
        "files": {"form": "none"},
        "covered": 3,
        "skipped": 0,
        "groups": [{"key": 0, "values": [31, 30, 0, 29]}],
    }


def test_partly_matching_file_is_read(table: Path) -> None:
    result = answer_of(table, [("count", None), ("max", A)], less(15))
    assert result["files"] == {"form": "ranges", "data": [[1, 2]]}
    assert (result["covered"], result["groups"]) == (1, [{"key": 0, "values": [10, 9]}])
    result = answer_of(table, [("min", A)], less(15))
    assert (result["files"], result["covered"], result["skipped"]) == ({"form": "none"}, 1, 1)
    result = answer_of(table, [("count", None)], less(0))
    assert (result["files"], result["groups"]) == ({"form": "none"}, [])


def test_groups_have_the_keys_of_directories(table: Path) -> None:
    result = answer_of(table, [("count", A), ("max", P)], keys=[1, 0, 1])
    groups = sorted(result["groups"], key=lambda group: group["key"])
    assert groups == [{"key": 0, "values": [10, 1]}, {"key": 1, "values": [20, 2]}]


def test_constants_round_trip_on_the_wire(table: Path) -> None:
    decimal = column("d", "decimal(9,2)")
    result = answer_of(table, [("min", decimal), ("max", decimal)])
    assert result["groups"] == [{"key": 0, "values": ["0.00", "29.00"]}]


@pytest.mark.parametrize(
    ("function", "argument", "code"),
    [
        ("max", column("s", "string"), "AGGREGATE_NOT_CERTAIN"),
        ("min", column("b", "binary"), "AGGREGATE_NOT_CERTAIN"),
        ("max", column("f", "double"), "AGGREGATE_NOT_CERTAIN"),
        ("max", column("nowhere", "long"), "AGGREGATE_NOT_CERTAIN"),
        ("max", column("a", "integer"), "AGGREGATE_NOT_CERTAIN"),
        ("max", {"n": "opaque", "sql": "f(a)"}, "AGGREGATE_NOT_UNDERSTOOD"),
        ("min", None, "AGGREGATE_NOT_UNDERSTOOD"),
    ],
)
def test_unsupported_aggregates_have_a_reason(
    table: Path, function: str, argument: Any, code: str
) -> None:
    result = answer_of(table, [(function, argument), ("count", None)])
    assert (result["kind"], result["reason"]["code"]) == ("nothing", code)


def test_opaque_filter_covers_no_file(table: Path) -> None:
    opaque = {"n": "opaque", "sql": "rand() < 0.5", "t": "boolean"}
    result = answer_of(table, [("count", None)], opaque)
    assert result["reason"]["code"] == "AGGREGATE_NOT_COVERED"


def test_reason_names_the_string_that_is_not_utf_8() -> None:
    table = pa.table(
        {
            "num_records": pa.array([2], pa.int64()),
            "min.a": pa.array([1], pa.int64()),
            "max.a": pa.array([5], pa.int64()),
            "attained.a": [True],
            "min.s": pa.array([b"a"], pa.binary()),
            "max.s": pa.array([b"\xff"], pa.binary()),
            "attained.s": [True],
        }
    )
    everything = np.ones(1, np.bool_)
    context = GoalContext(
        ScanInput(
            [Segment(slice(0, 1), Files(table))],
            (),
            np.array([2], np.int64),
            2,
            (),
            (),
            DirectoryStatistics(1, {}, {}, True),
            np.zeros(1, np.int32),
            pa.chunked_array([[100]]),
        ),
        (),
        ScanDecision(everything, ()),
    )
    functions = [("min", A), ("min", column("s", "string")), ("max", column("s", "string"))]
    goal = AggregateGoal([AggregateDocument(name, argument) for name, argument in functions])
    result = answer_aggregates(goal, context)
    assert isinstance(result, NothingAnswer)
    assert result.reason.code == "AGGREGATE_NOT_CERTAIN"
    assert "the exact max(s)" in result.reason.text
    answered = answer_aggregates(AggregateGoal(goal.aggregates[:2]), context)
    assert isinstance(answered, AggregateAnswer)
    assert [group.values for group in answered.groups] == [[1, "a"]]


def test_a_sample_of_the_files_that_are_left(table: Path) -> None:
    sample = {"columns": ["string"], "sampled": ["string"], "least": 0}
    extremes = [("min", S), ("max", S)]
    some = {"n": "in", "a": A, "t": "long", "v": [k for k in range(30) if k % 5], "null": False}
    found = answer_of(table, extremes, some, sample=sample)
    assert found == {
        "kind": "aggregate",
        "files": {"form": "all"},
        "covered": 0,
        "skipped": 0,
        "groups": [],
        "sample": {"form": "ranges", "data": [[0, 1], [2, 3]]},
    }
    without = answer_of(table, extremes, some)
    assert without is not None
    assert without["kind"] == "nothing"
    # a single file is left
    assert answer_of(table, extremes, some | {"v": [5]}, sample=sample) == without
    assert answer_of(table, [*extremes, ("count", None)], some, sample=sample) == without
    # the filter may raise
    raising = {"n": "opaque", "sql": "f(a)", "t": "boolean", "cols": [["a"]]}
    assert answer_of(table, extremes, some, raising, sample=sample) == without


# --- recorded aggregates --------------------------------------------------------------------------


def record(root: Path, *aggregates: str, by: tuple[str, ...] = ()) -> None:
    LocalIndex(root, SCHEMA, root.parent / "scratch").add(aggregates=aggregates, by=by)


def test_nothing_is_said_without_recorded_aggregates(table: Path) -> None:
    assert answer_of(table, [("sum", A)]) is None
    assert answer_of(table, [("count", None)], by=(S,)) is None
    assert answer_of(table, [("count", None), ("max", A)]) is not None


def test_sums_are_unscaled_text(table: Path) -> None:
    record(table, "sum(a)", "sum(d)", "count(*)")
    functions = [("sum", A), ("sum", column("d", "decimal(9,2)")), ("count", None)]
    result = answer_of(table, functions)
    assert result is not None
    assert result["files"] == {"form": "none"}
    assert result["groups"] == [{"key": 0, "values": ["435", "43500", 31]}]
    cut = answer_of(table, functions, less(15))
    assert cut is not None
    assert (cut["covered"], cut["groups"]) == (1, [{"key": 0, "values": ["45", "4500", 10]}])


def test_groups_by_columns_and_directories(table: Path) -> None:
    record(table, "sum(a)", by=("s",))
    result = answer_of(table, [("sum", A)], less(2), keys=[5, 6, 7], by=(S,))
    assert result is not None
    assert result["reason"]["code"] == "AGGREGATE_NOT_COVERED"
    is_t28 = {"n": "in", "a": S, "t": "string", "v": ["t28"], "null": False}
    result = answer_of(table, [("sum", A), ("count", A)], is_t28, keys=[5, 6, 7], by=(S,))
    assert result is not None
    assert result["groups"] == [{"key": 7, "values": ["28", 1], "by": ["t28"]}]


def test_reasons_of_aggregates_that_are_not_recorded(table: Path) -> None:
    record(table, "sum(a)", by=("s",))
    for functions, by, code in (
        ([("sum", column("d", "decimal(9,2)"))], (), "AGGREGATE_NOT_RECORDED"),
        ([("sum", A)], (column("b", "binary"),), "AGGREGATE_NOT_RECORDED"),
        ([], (A,), "AGGREGATE_NOT_RECORDED"),
        ([("sum", A)], ({"n": "opaque", "sql": "f(a)", "t": "long", "cols": [["a"]]},),
         "AGGREGATE_NOT_UNDERSTOOD"),
    ):  # fmt: skip
        result = answer_of(table, functions, by=by)
        assert result is not None
        assert result["reason"]["code"] == code
