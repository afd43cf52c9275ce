"""Published Delta tables: the rows of one version of the log, and what is refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, WriterProperties, write_deltalake

from tamis.publish.column_facts import column_facts
from tamis.publish.errors import PublishError
from tamis.publish.tables import PublishedTable
from tamis.sources.file_source import Moment
from tests.publish.delta_log import column, deleted, file_of, with_ids, write_log
from tests.publish.lakes import Comparison, mixed_rows, rows_of

SMALL_GROUPS = WriterProperties(max_row_group_size=4)


def append(root: Path, rows: pa.Table, **options: Any) -> None:
    write_deltalake(root, rows, mode="append", writer_properties=SMALL_GROUPS, **options)


def library_rows(root: Path, version: int | None = None) -> pa.Table:
    return pa.table(DeltaTable(root, version=version).scan())


def published(root: Path) -> PublishedTable:
    return PublishedTable(str(root), "t")


def values(root: Path, name: str = "n") -> list[Any]:
    return sorted(row[name] for row in rows_of(published(root).current()))


# --- rows ---------------------------------------------------------------------------------------


def test_rows_and_filters_equal_those_of_deltalake(tmp_path: Path) -> None:
    root = tmp_path / "tä b"
    for part in mixed_rows(tmp_path / "source"):
        append(root, part, partition_by=["p", "q"])
    DeltaTable(root).delete("id % 10 = 3")
    expected = library_rows(root)
    snapshot = published(root).current()
    assert snapshot.rows == expected.num_rows == 97
    assert snapshot.schema.names == expected.schema.names
    Comparison(snapshot, expected).check_random(seed=1, count=30)


def test_only_files_of_the_log_are_read(tmp_path: Path) -> None:
    append(tmp_path, pa.table({"n": [1, 2]}))
    write_deltalake(tmp_path, pa.table({"n": [3]}), mode="overwrite")
    pq.write_table(pa.table({"n": [99]}), tmp_path / "stray.parquet")
    assert values(tmp_path) == [3]


def test_partition_values_come_from_the_log(tmp_path: Path) -> None:
    texts = ["a b", "é%", "x/y", None, "a=b#?&", "%41", "1"]
    append(tmp_path, pa.table({"p": texts, "n": range(7)}), partition_by=["p"])
    rows = rows_of(published(tmp_path).current())
    assert {row["n"]: row["p"] for row in rows} == dict(enumerate(texts))
    # also if the name of a directory says something else
    path = next(tmp_path.glob("p=1"))
    path.rename(tmp_path / "p=2")
    log = tmp_path / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text().replace('"path":"p=1/', '"path":"p=2/'))
    assert {row["p"] for row in rows_of(published(tmp_path).current())} == set(texts)


def test_empty_table_has_its_columns(tmp_path: Path) -> None:
    DeltaTable.create(tmp_path, pa.schema({"n": pa.int64(), "p": pa.string()}), partition_by="p")
    snapshot = published(tmp_path).current()
    assert (snapshot.schema.names, snapshot.rows, snapshot.surviving()) == (["n", "p"], 0, ())


def test_columns_that_were_added_are_null(tmp_path: Path) -> None:
    append(tmp_path, pa.table({"n": [1]}))
    append(tmp_path, pa.table({"n": [2], "m": ["x"]}), schema_mode="merge")
    assert rows_of(published(tmp_path).current()) in (
        [{"n": 1, "m": None}, {"n": 2, "m": "x"}],
        [{"n": 2, "m": "x"}, {"n": 1, "m": None}],
    )


# --- versions -----------------------------------------------------------------------------------


def test_planned_version_is_read_while_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis.publish.tables._RELIST", 0.0)
    monkeypatch.setattr("tamis.publish.tables._SHARE", 0.0)
    append(tmp_path, pa.table({"n": [1, 2]}))
    table = published(tmp_path)
    before = table.current()
    assert table.current() is before
    append(tmp_path, pa.table({"n": [3]}))
    write_deltalake(tmp_path, pa.table({"n": [4]}), mode="overwrite")
    assert [row["n"] for row in rows_of(table.current())] == [4]
    assert [row["n"] for row in rows_of(before)] == [1, 2]
    assert table.at("0") is before
    # another process finds the same version
    assert sorted(row["n"] for row in rows_of(published(tmp_path).at("1"))) == [1, 2, 3]
    with pytest.raises(PublishError, match="t has no version 9: the last is 2"):
        table.at("9")
    with pytest.raises(PublishError, match="versions are numbers"):
        table.at("x")


def test_vacuumed_file_is_an_error(tmp_path: Path) -> None:
    append(tmp_path, pa.table({"n": [1, 2]}))
    snapshot = published(tmp_path).current()
    write_deltalake(tmp_path, pa.table({"n": [3]}), mode="overwrite")
    DeltaTable(tmp_path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(PublishError, match=r"\.parquet was deleted after it was listed"):
        rows_of(snapshot)
    with pytest.raises(PublishError, match=r"t: .*\.parquet does not exist, but is a file of the"):
        published(tmp_path).at("0")
    assert values(tmp_path) == [3]


def test_time_is_that_of_the_log_and_of_its_files(tmp_path: Path) -> None:
    append(tmp_path, pa.table({"n": [1]}))
    append(tmp_path, pa.table({"n": [2]}))
    table = published(tmp_path)
    assert table.as_of(Moment("TIMESTAMP", "2100-01-01")).version == "1"
    os.utime(tmp_path / "_delta_log" / f"{1:020}.json", (5e9, 5e9))
    with pytest.raises(PublishError, match="was current at 2100-01-01: pass a VERSION"):
        table.as_of(Moment("TIMESTAMP", "2100-01-01"))


# --- logs of other writers ----------------------------------------------------------------------


def test_paths_are_decoded_once_and_may_be_absolute(tmp_path: Path) -> None:
    inside = file_of(tmp_path / "t" / "a %41+ü.parquet", pa.table({"n": [1]}))
    outside = file_of(tmp_path / "other b" / "b%.parquet", pa.table({"n": [2]}))
    outside["path"] = "file://" + quote(str(tmp_path / "other b" / "b%.parquet"))
    root = write_log(tmp_path / "t", [column("n")], [inside, outside])
    assert values(root) == [1, 2]
    snapshot = published(root).current()
    assert {each.path for each in snapshot.files} == {
        "a %41+ü.parquet",
        str(tmp_path / "other b" / "b%.parquet"),
    }


def test_rows_of_deletion_vectors_are_left_out(tmp_path: Path) -> None:
    rows = pa.table({"n": list(range(7)), "p": ["own"] * 7})
    first = file_of(tmp_path / "a.parquet", rows, deletionVector=deleted(0, 3, 4, 6))
    second = file_of(tmp_path / "b.parquet", pa.table({"n": [10, 11]}))
    first["partitionValues"] = second["partitionValues"] = {"p": "log"}
    columns = [column("n"), column("p", "string")]
    root = write_log(tmp_path, columns, [first, second], "deletionVectors", partitions=["p"])
    snapshot = published(root).current()
    expected = [{"n": n, "p": "log"} for n in (1, 2, 5, 10, 11)]
    assert rows_of(snapshot) == expected
    assert rows_of(snapshot, "p") == [{"p": "log"}] * 5
    assert snapshot.rows is None
    comparison = [row for row in library_rows(root).to_pylist() if row["n"] < 10]
    assert comparison == expected[:3]
    # row groups that are read alone have the right places
    pieces = [piece for part in snapshot.surviving() for piece in snapshot.pieces(part)]
    read = [list(snapshot.reader.batches(each, ["n"])) for each in pieces]
    found = [[n for batch in each for n in batch.column("n").to_pylist()] for each in read]
    assert found == [[1], [2], [5], [], [10, 11]]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_are_mapped(tmp_path: Path, mode: str) -> None:
    """The names were swapped, one was dropped and added again, and a field was renamed."""
    inner = pa.field("old", pa.int64(), metadata={"PARQUET:field_id": "5"})
    outer = pa.field("s", pa.struct([inner]), metadata={"PARQUET:field_id": "4"})
    rows = with_ids(a=(1, [1, 2]), b=(2, [3, 4]), c=(9, [5, 6]))
    rows = rows.append_column(outer, pa.array([{"old": 7}, None], outer.type))
    add = file_of(tmp_path / "a.parquet", rows)
    columns = [
        column("b", id=1, physicalName="a"),
        column("a", id=2, physicalName="b"),
        column("c", id=3, physicalName="col-3"),
        column(
            "s",
            {"type": "struct", "fields": [column("new", id=5, physicalName="old")]},
            id=4,
            physicalName="s",
        ),
        column("p", "string", id=6, physicalName="c"),
    ]
    add["partitionValues"] = {"c": "x"}
    root = write_log(tmp_path, columns, [add], "columnMapping", partitions=["p"], mode=mode)
    snapshot = published(root).current()
    assert rows_of(snapshot) == [
        {"b": 1, "a": 3, "c": None, "s": {"new": 7}, "p": "x"},
        {"b": 2, "a": 4, "c": None, "s": None, "p": "x"},
    ]
    facts = {name: column_facts(snapshot.statistics, snapshot.schema.field(name)) for name in "abc"}
    assert {name: each.minimum and each.minimum.as_py() for name, each in facts.items()} == {
        "a": 3,
        "b": 1,
        "c": None,
    }
    assert not facts["c"].can_be_value


def test_narrower_types_are_widened(tmp_path: Path) -> None:
    adds = [
        file_of(tmp_path / "a.parquet", pa.table({"n": pa.array([1], pa.int16())})),
        file_of(tmp_path / "b.parquet", pa.table({"n": [2**40]})),
    ]
    assert values(write_log(tmp_path, [column("n")], adds, "typeWidening")) == [1, 2**40]


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "features", "rows", "says"),
    [
        ([column("n")], ["variantType"], {"n": [1]}, "reader feature variantType, which is not"),
        ([column("n")], ["rowWarp"], {"n": [1]}, "cannot be read .*rowWarp"),
        ([column("n", "variant")], ["timestampNtz"], {"n": [1]}, "t.*variant"),
        ([column("n"), column("N")], [], {"n": [1]}, "differ in case|cannot be read"),
        ([column("n", "integer")], [], {"n": [1]}, r"a\.parquet has the type int64 for n"),
        ([column("n")], [], {"n": ["x"]}, r"a\.parquet has the type string for n"),
        ([column("n")], ["columnMapping"], {"n": [1]}, "lacks its column mapping|cannot be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(
    tmp_path: Path,
    columns: list[dict[str, Any]],
    features: list[str],
    rows: dict[str, list[Any]],
    says: str,
) -> None:
    add = file_of(tmp_path / "a.parquet", pa.table(rows))
    mode = "name" if "columnMapping" in features else None
    write_log(tmp_path, columns, [add], *features, mode=mode)
    with pytest.raises(PublishError, match=says):
        published(tmp_path).current()


def test_files_without_ids_are_refused_if_columns_are_matched_by_id(tmp_path: Path) -> None:
    add = file_of(tmp_path / "a.parquet", pa.table({"n": [1]}))
    write_log(tmp_path, [column("n", id=1, physicalName="n")], [add], "columnMapping", mode="id")
    with pytest.raises(PublishError, match=r"a\.parquet has no field ids"):
        published(tmp_path).current()


def test_files_of_another_storage_are_refused(tmp_path: Path) -> None:
    write_log(tmp_path, [column("n")], [{"path": "s3://bucket/a.parquet", "size": 1}])
    with pytest.raises(
        PublishError, match=r"s3://bucket/a\.parquet, which is not in the storage of the table"
    ):
        published(tmp_path).current()


def test_percent_in_the_path_of_a_table_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path / "a%20b", [column("n")], [])
    with pytest.raises(PublishError, match="t is a Delta table with % in its path"):
        published(tmp_path / "a%20b").current()


def test_broken_log_is_an_error(tmp_path: Path) -> None:
    append(tmp_path, pa.table({"n": [1]}))
    for path in (tmp_path / "_delta_log").iterdir():
        path.write_text("{")
    with pytest.raises(PublishError, match="t is a Delta table that cannot be read"):
        published(tmp_path).current()
    shutil.rmtree(tmp_path / "_delta_log")
    assert values(tmp_path) == [1]


def test_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path, pa.table({"n": [1]}))
    monkeypatch.setitem(__import__("sys").modules, "deltalake", None)
    with pytest.raises(PublishError, match=r"needs the package deltalake .*tamis\[delta\]"):
        published(tmp_path).current()
