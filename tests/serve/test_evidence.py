"""The evidence for each file: its verdict, the deciding conjunct, and the cells that prove it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.expr.nodes import And
from tamis.files.verdicts import evaluate
from tamis.serve.detail.evidence import NOT_ALL
from tamis.serve.process.handler import Handler
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.messages import VERSION
from tests.indexing.local import LocalIndex, spark_schema, uri_of, write_snapshot


def write(path: Path, values: list[int | None]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"a": pa.array(values, pa.int64())}), path)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return two partitions, one of them NULL. a is 0 .. 9, 10 .. 19, …, then only NULL, then no
    row."""
    root = tmp_path / "t"
    for number in range(4):
        values = list(range(number * 10, number * 10 + 10))
        write(root / f"p={number // 2}" / f"{number}.parquet", [*values])
    write(root / "p=1" / "4.parquet", [None, None])
    write(root / "p=1" / "5.parquet", [])
    index(root).build()
    return root


def index(root: Path) -> LocalIndex:
    return LocalIndex(root, spark_schema(a="long"), root.parent / "scratch")


def call(function: str, *arguments: Any) -> dict[str, Any]:
    return {"n": "call", "f": function, "t": "boolean", "a": list(arguments)}


def a(function: str, limit: int) -> dict[str, Any]:
    return call(function, {"n": "col", "p": ["a"], "t": "long"}, literal(limit, "long"))


def p(function: str, limit: int) -> dict[str, Any]:
    return call(function, {"n": "col", "p": ["p"], "t": "integer"}, literal(limit, "integer"))


def literal(value: int, kind: str) -> dict[str, Any]:
    return {"n": "lit", "t": kind, "v": value}


def answer_of(root: Path, conjuncts: list[Any], **more: Any) -> dict[str, Any]:
    """Return the answer to the request, with the written evidence in "table"."""
    directory = root.parent / "snapshot"
    directories = len(list(root.iterdir()))
    partitions = {"p": pa.array([None, 1][:directories], pa.int32())}
    fingerprint, files = write_snapshot(root, directory, partitions)
    request = {
        "version": VERSION,
        "id": "q1",
        "snapshot": {"fingerprint": fingerprint, "directory": str(directory), "files": files},
        "table": {
            "roots": [uri_of(root)],
            "partition_columns": [{"name": "p", "type": "integer"}],
        },
        "cache_directory": str(root.parent / "cache"),
        "conjuncts": conjuncts,
        **more,
    }
    answer = json.loads(Handler().evidence(msgspec.json.encode(request).decode()))
    path = directory / "q1.evidence.arrow"
    if path.exists():
        answer["table"] = pa.ipc.open_file(path).read_all()
        path.unlink()
        assert [each.name for each in directory.iterdir() if each.suffix == ".part"] == []
    return dict(answer)


def column(answer: dict[str, Any], name: str) -> list[Any]:
    return list(answer["table"].column(name).to_pylist())


def cells(answer: dict[str, Any]) -> list[dict[str, str]]:
    return [dict(each) for each in column(answer, "statistics")]


def replayed(answer: dict[str, Any], conjuncts: list[Any]) -> list[str]:
    """Return the verdicts that follow from the cells alone."""
    rows = cells(answer)
    names = {name for row in rows for name in row} - {NOT_ALL}

    def value(row: dict[str, str], name: str) -> int | None:
        return int(row[name].removesuffix("L")) if name in row else None

    arrays = {n: pa.array([value(row, n) for row in rows], pa.int64()) for n in names}
    files = pa.table(arrays or {"num_records": pa.nulls(len(rows), pa.int64())})
    return evaluate(And(tuple(decode_conjuncts(conjuncts))), files).to_pylist()


def test_evidence_has_verdicts_and_the_deciding_conjunct(table: Path) -> None:
    conjuncts = [a("GreaterThan", 12), a("LessThan", 25)]
    answer = answer_of(table, conjuncts)
    assert answer["rows"] == 6
    assert column(answer, "rows") == [10, 10, 10, 10, 2, 0]
    assert column(answer, "verdict") == ["none", "some", "some", "none", "none", "none"]
    assert column(answer, "ruled_out") == [0, None, None, 1, 0, -1]
    assert column(answer, "together") == [0, None, None, 1, 0, 0]
    assert cells(answer)[1] == {
        "num_records": "10",
        "min.a": "10L",
        "max.a": "19L",
        "null_count.a": "0",
    }
    assert replayed(answer, conjuncts) == column(answer, "verdict")


def test_conjuncts_rule_out_a_file_together(table: Path) -> None:
    conjuncts = [a("LessThan", 2), a("GreaterThan", 7)]
    answer = answer_of(table, conjuncts)
    assert column(answer, "ruled_out")[0] is None
    assert column(answer, "together")[0] == 1
    assert column(answer, "verdict")[0] == "none"
    assert replayed(answer, conjuncts) == column(answer, "verdict")


def test_fully_matching_file_has_verdict_all(table: Path) -> None:
    conjuncts = [a("GreaterThanOrEqual", 10), a("LessThanOrEqual", 29)]
    assert column(answer_of(table, conjuncts), "verdict") == ["none", "all", "all", *["none"] * 3]


def test_verdict_without_conjuncts_is_all(table: Path) -> None:
    answer = answer_of(table, [])
    assert column(answer, "verdict") == ["all"] * 5 + ["none"]
    assert column(answer, "ruled_out") == [None] * 5 + [-1]


def test_unknown_file_has_no_verdict(table: Path) -> None:
    write(table / "p=0" / "0.parquet", [5] * 1000)
    answer = answer_of(table, [a("GreaterThan", 12)])
    assert column(answer, "verdict")[:2] == [None, "some"]
    assert column(answer, "rows")[:2] == [None, 10]
    assert cells(answer)[0] == {}
    # A constant predicate still decides, as does a partition value.
    contradiction = [call("And", a("LessThan", 2), a("GreaterThan", 7))]
    assert column(answer_of(table, contradiction), "verdict")[0] == "none"


def test_many_alternating_files_get_their_verdicts(table: Path) -> None:
    for number in range(100):
        write(table / "p=0" / f"more{number:03d}.parquet", [number])
    index(table).build()
    for number in range(0, 100, 2):
        write(table / "p=0" / f"more{number:03d}.parquet", [number] * 3)
    conjuncts = [a("LessThan", 50)]
    verdicts = column(answer_of(table, conjuncts), "verdict")[2:102]
    assert verdicts == [None if n % 2 == 0 else "all" if n < 50 else "none" for n in range(100)]
    rows = column(answer_of(table, conjuncts), "rows")[2:102]
    assert rows == [None if n % 2 == 0 else 1 for n in range(100)]


def test_partitions_without_an_index(table: Path) -> None:
    answer = answer_of(table, [p("EqualTo", 1)], index={"enabled": False})
    assert column(answer, "verdict") == ["none"] * 2 + ["all"] * 4
    assert cells(answer)[2] == {"min.p": "1", "max.p": "1", "null_count.p": "0"}
    # The row count of the first file is unknown, so no cell shows that all rows are NULL.
    assert cells(answer)[0] == {NOT_ALL: "true"}
    assert cells(answer_of(table, [p("EqualTo", 1)]))[0] == {
        "num_records": "10",
        "null_count.p": "10",
    }


def test_columns_of_an_opaque_predicate_are_included(table: Path) -> None:
    opaque = {"n": "opaque", "sql": "f(a)", "cols": [["a"]], "t": "boolean"}
    answer = answer_of(table, [opaque])
    assert column(answer, "verdict")[0] == "some"
    assert cells(answer)[0]["min.a"] == "0"


def test_verdict_by_a_value_list_is_marked(table: Path) -> None:
    write(table / "p=0" / "0.parquet", [0, 9])
    index(table).build(columns={"a": "values"})
    answer = answer_of(table, [a("EqualTo", 5)])
    assert column(answer, "verdict")[0] == "none"
    assert cells(answer)[0][NOT_ALL] == "true"
    assert NOT_ALL not in cells(answer)[1]


@pytest.mark.parametrize("more", [{"id": "../q1"}, {"version": 99}, {"conjuncts": 5}])
def test_invalid_request_is_refused(table: Path, more: dict[str, Any]) -> None:
    answer = answer_of(table, **{"conjuncts": [], **more})
    assert answer["error"]["code"] == "refused"
    assert "table" not in answer
    assert not (table.parent / "q1.evidence.arrow").exists()


def test_empty_listing_has_no_evidence(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    assert answer_of(tmp_path / "t", [a("LessThan", 1)])["table"].num_rows == 0
