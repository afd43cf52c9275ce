"""Branches that are Delta or Iceberg tables: their files, as tasks for executors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tamis.expr.nodes import And, Column, Compare, Comparison, Expr, Literal, Or
from tamis.expr.rewrites import TRUE
from tamis.expr.types import LONG, STRING
from tamis.remote.vgi.tables.branch_task import BranchTask
from tamis.remote.vgi.tables.lake_files import LakeFiles
from tamis.sources.errors import SourceError
from tests.publish.delta_log import column, deleted, file_of, with_ids, write_log


def equals(value: Any, *path: str) -> Expr:
    data_type = STRING if isinstance(value, str) else LONG
    return Compare(Comparison.EQUAL, Column(path, data_type), Literal(value, data_type))


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Return a table with swapped names, a renamed field, deleted rows and a partition."""
    inner = pa.field("x", pa.int64(), metadata={"PARQUET:field_id": "5"})
    outer = pa.field("s", pa.struct([inner]), metadata={"PARQUET:field_id": "4"})
    rows = with_ids(a=(1, [1, 2, 3]), b=(2, [4, 5, 6]))
    rows = rows.append_column(outer, pa.array([{"x": 7}, None, {"x": 8}], outer.type))
    first = file_of(tmp_path / "a.parquet", rows, deletionVector=deleted(1))
    second = file_of(tmp_path / "b.parquet", with_ids(a=(1, [9])))
    first["partitionValues"], second["partitionValues"] = {"phys": "x"}, {"phys": None}
    struct = {"type": "struct", "fields": [column("y", id=5, physicalName="x")]}
    columns = [
        column("b", id=1, physicalName="a"),
        column("a", id=2, physicalName="b"),
        column("s", struct, id=4, physicalName="s"),
        column("p", "string", id=6, physicalName="phys"),
    ]
    features = ("columnMapping", "deletionVectors")
    return write_log(tmp_path, columns, [first, second], *features, partitions=["p"], mode="name")


def rows_of(lake: Path, *names: str, where: Expr = TRUE) -> list[dict[str, Any]]:
    files = LakeFiles("branch 1", str(lake), "delta", "server")
    return [
        row
        for task in files.tasks(names, where)
        for batch in task.batches()
        for row in batch.to_pylist()
    ]


def test_rows_are_those_of_the_table(lake: Path) -> None:
    assert rows_of(lake, "a", "b", "s", "p") == [
        {"a": 4, "b": 1, "s": {"y": 7}, "p": "x"},
        {"a": 6, "b": 3, "s": {"y": 8}, "p": "x"},
        {"a": None, "b": 9, "s": None, "p": None},
    ]
    assert rows_of(lake, "p") == [{"p": "x"}, {"p": "x"}, {"p": None}]


def test_rows_are_counted_if_no_column_is_needed(lake: Path) -> None:
    """A table whose columns this branch lacks still has its rows."""
    other = pa.schema([("other", pa.int64())])
    tasks = LakeFiles("branch 1", str(lake), "delta", "server").tasks((), TRUE)
    branches = [BranchTask("server", each, other) for each in tasks]
    rows = [row for each in branches for batch in each.batches() for row in batch.to_pylist()]
    assert rows == [{"other": None}] * 3


def test_file_whose_partition_has_no_row_is_not_opened(lake: Path) -> None:
    b = lake / "b.parquet"
    b.write_bytes(b"?" * b.stat().st_size)
    for where in (equals("x", "p"), And((equals("x", "p"), equals(1, "b")))):
        assert len(rows_of(lake, "b", where=where)) == 2
    for where in (TRUE, equals("X", "P"), Or((equals("x", "p"), equals(9, "b")))):
        with pytest.raises(SourceError, match=r"b\.parquet cannot be read"):
            rows_of(lake, "b", where=where)


@pytest.mark.parametrize(
    ("where", "files"),
    [
        (equals(1, "b"), 1),
        (equals(9, "b"), 1),
        (equals(4, "b"), 0),
        (equals(4, "a"), 1),
        (equals(7, "s", "y"), 1),
        (equals(9, "s", "y"), 0),
        (equals("x", "p"), 1),
        (equals("y", "p"), 0),
        (Or((equals("y", "p"), equals(9, "b"))), 1),
        (And((equals("x", "p"), equals(9, "b"))), 0),
        (equals(4, "unknown"), 2),
        (equals(4, "B"), 2),  # a name in another case is not known
        (equals(9, "s", "x"), 2),  # the name in the file is not that of the table
    ],
)
def test_files_are_left_out(lake: Path, where: Expr, files: int) -> None:
    tasks = LakeFiles("branch 1", str(lake), "delta", "server").tasks(("a",), where)
    assert len(list(tasks)) == files


def test_changed_and_missing_files_are_errors(lake: Path) -> None:
    tasks = list(LakeFiles("branch 1", str(lake), "delta", "server").tasks(("a",), TRUE))
    (lake / "a.parquet").write_bytes(b"")
    with pytest.raises(
        RuntimeError, match=r"server: reading .*a\.parquet failed: the file has chan"
    ):
        list(tasks[0].batches())
    (lake / "a.parquet").unlink()
    with pytest.raises(RuntimeError, match=r"server: reading .*a\.parquet failed"):
        list(tasks[0].batches())
    with pytest.raises(SourceError, match=r"branch 1: a\.parquet cannot be read"):
        rows_of(lake, "a")
