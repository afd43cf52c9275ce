"""Published Iceberg tables: the rows of one snapshot, by field id, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.table import StaticTable, Table
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate, update_table_metadata
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType

from tamis.expr.nodes import Column, Compare, Literal
from tamis.expr.nodes import Comparison as Op
from tamis.expr.types import DATE, INTEGER, LONG, STRING, DataType
from tamis.publish.column_facts import column_facts
from tamis.publish.errors import PublishError
from tamis.publish.pruning import exact_filters
from tamis.publish.tables import PublishedTable
from tests.publish.lakes import Comparison, mixed_rows, rows_of, without_catalog

INT, LARGE = pa.int32(), pa.int64()


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """Return a catalog that pyiceberg finds under the name `lake`."""
    settings = {
        "type": "sql",
        "uri": f"sqlite:///{tmp_path}/catalog.db",
        "warehouse": f"file://{tmp_path}/ware house",
    }
    found = load_catalog("lake", **settings)
    found.create_namespace("db")
    # pyiceberg reads its configuration when it is imported
    configured = partial(_configured, found, load_catalog)
    monkeypatch.setattr("pyiceberg.catalog.load_catalog", configured)
    return found


def _configured(lake: Catalog, load: Callable[[str], Catalog], name: str) -> Catalog:
    return lake if name == "lake" else load(name)


def published(name: str = "t") -> PublishedTable:
    return PublishedTable(f"iceberg:lake.db.{name}", name)


def create(catalog: Catalog, *, name: str = "t", **columns: Any) -> Table:
    properties = {"write.parquet.row-group-limit": "4", "format-version": "2"}
    return catalog.create_table(f"db.{name}", pa.schema(columns), properties=properties)


def partition_by(table: Table, *names: str) -> None:
    with table.update_spec() as update:
        for name in names:
            update.add_field(name, IdentityTransform(), f"{name}_part")


def append(table: Table, **columns: Any) -> None:
    schema = table.schema().as_arrow()
    table.append(pa.table(columns, pa.schema([schema.field(name) for name in columns])))


def library_rows(table: Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.refresh().scan().to_arrow().to_pylist()
    return rows


def sorted_rows(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, rows))


def check(table: Table) -> None:
    """Compare a published table with pyiceberg's own rows."""
    assert sorted_rows(rows_of(published().current())) == sorted_rows(library_rows(table))


# --- rows ---------------------------------------------------------------------------------------


def test_rows_and_filters_equal_those_of_pyiceberg(tmp_path: Path, catalog: Catalog) -> None:
    """The columns have other names and narrower types in the first files."""
    parts = mixed_rows(tmp_path / "source")
    old = {"i": "i_before", "dbl": "d", "d": "dbl"}  # two of them are swapped
    first = parts[0].rename_columns([old.get(name, name) for name in parts[0].schema.names])
    fields = {each.name: each.type for each in first.schema}
    fields["id"] = INT
    table = create(catalog, **fields, dropped=pa.int64())
    partition_by(table, "p", "q")
    for part in parts[:4]:
        columns = {old.get(name, name): part.column(name) for name in part.schema.names}
        append(table, **columns, dropped=[5] * part.num_rows)
    with table.update_schema() as update:
        update.delete_column("dropped")
        update.rename_column("i_before", "i")
        update.rename_column("d", "x")
        update.update_column("id", LongType())
    with table.update_schema() as update:
        update.rename_column("dbl", "d")
    with table.update_schema() as update:
        update.rename_column("x", "dbl")
        update.add_column("dropped", DoubleType())
    for part in parts[4:]:
        append(table, **{name: part.column(name) for name in part.schema.names})
    table.delete("id in (3, 13, 50)")
    expected = table.refresh().scan().to_arrow()
    snapshot = published().current()
    assert snapshot.rows == expected.num_rows == 105
    assert snapshot.schema.names == expected.schema.names
    Comparison(snapshot, expected).check_random(seed=2, count=30)


def test_only_files_of_the_snapshot_are_read(catalog: Catalog) -> None:
    table = create(catalog, n=LARGE)
    append(table, n=[1, 2])
    table.overwrite(pa.table({"n": [3]}))
    folder = Path(table.location().removeprefix("file://")) / "data"
    pq.write_table(pa.table({"n": [99]}), folder / "stray.parquet")
    assert rows_of(published().current()) == [{"n": 3}]


def test_empty_table_has_its_columns(catalog: Catalog) -> None:
    table = create(catalog, n=LARGE, d=pa.date32())
    snapshot = published().current()
    assert (snapshot.schema.names, snapshot.rows, snapshot.surviving()) == (["n", "d"], 0, ())
    assert snapshot.version.startswith("empty:")
    append(table, n=[1], d=[date(2026, 1, 1)])
    assert published().at(snapshot.version).rows == 0


def test_column_that_is_dropped_and_added_again_is_another_one(catalog: Catalog) -> None:
    table = create(catalog, n=LARGE, m=LARGE)
    append(table, n=[1, 2], m=[5, 6])
    with table.update_schema() as update:
        update.delete_column("m")
    with table.update_schema() as update:
        update.add_column("m", LongType())
    append(table, n=[3], m=[7])
    snapshot = published().current()
    check(table)
    # the old values do not keep a file, and do not prove anything either
    five = Compare(Op.EQUAL, Column(("m",), LONG), Literal(5, LONG))
    assert snapshot.surviving([five]) == ()
    facts = column_facts(snapshot.statistics, snapshot.schema.field("m"))
    assert facts.minimum is not None
    assert (facts.minimum.as_py(), facts.can_be_null) == (7, True)


def test_nested_fields_are_matched_by_id(catalog: Catalog) -> None:
    """Fields of structs, also inside of lists and maps, are renamed, dropped, added and moved.

    pyiceberg 0.12 itself returns the values of the dropped field in the list of lists.
    """
    inner = pa.struct({"x": INT, "y": pa.string(), "z": LARGE})
    table = create(
        catalog, n=LARGE, s=inner, l=pa.list_(inner), m=pa.map_(pa.string(), inner),
        deep=pa.struct({"l": pa.list_(pa.list_(inner))}),
    )  # fmt: skip
    value = {"x": 1, "y": "a", "z": 5}
    half = {"x": None, "y": None, "z": 6}
    append(
        table,
        n=[1, 2, 3],
        s=[value, None, half],
        l=[[value, half, None], [], []],  # pyiceberg writes NULL as an empty list
        m=[[("k", value), ("l", None)], [], []],
        deep=[{"l": [[value], None, [half]]}, None, {"l": None}],
    )
    with table.update_schema() as update:
        for where in ("s", "l.element", "m.value", "deep.l.element.element"):
            path = tuple(where.split("."))
            update.rename_column((*path, "x"), "X2")
            update.update_column((*path, "x"), LongType())
            update.delete_column((*path, "z"))
            update.move_first((*path, "y"))
    with table.update_schema() as update:
        for where in ("s", "l.element", "m.value", "deep.l.element.element"):
            update.add_column((*where.split("."), "z"), LongType())
    new = {"y": "a", "X2": 1, "z": None}
    empty = {"y": None, "X2": None, "z": None}
    snapshot = published().current()
    assert rows_of(snapshot) == [
        {"n": 1, "s": new, "l": [new, empty, None], "m": [("k", new), ("l", None)],
         "deep": {"l": [[new], None, [empty]]}},
        {"n": 2, "s": None, "l": [], "m": [], "deep": None},
        {"n": 3, "s": empty, "l": [], "m": [], "deep": {"l": None}},
    ]  # fmt: skip
    x = Compare(Op.GREATER, Column(("s", "X2"), LONG), Literal(1, LONG))
    z = Compare(Op.GREATER, Column(("s", "z"), LONG), Literal(1, LONG))
    assert snapshot.surviving([x]) == snapshot.surviving([z]) == ()


def test_values_of_columns_that_files_lack(tmp_path: Path, catalog: Catalog) -> None:
    """A partition value comes first, also NULL, then the initial default."""
    table = create(catalog, n=LARGE, p=pa.string(), day=pa.date32(), k=INT, none=INT)
    partition_by(table, "p", "day")
    field = pa.field("n", LARGE, metadata={"PARQUET:field_id": "1"})
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table([[1, 2]], pa.schema([field])), path)
    for partition in (Record("a", 20_484), Record(None, None)):
        copied = shutil.copy(path, tmp_path / f"{partition[0]}.parquet")
        size = path.stat().st_size
        location = commit_file(
            table, tmp_path, file_path=str(copied), partition=partition, file_size_in_bytes=size
        )
        metadata = json.loads(location.read_text())
        table = StaticTable.from_metadata(str(location))
    for column in metadata["schemas"][-1]["fields"]:
        if column["name"] in ("k", "p"):
            column["initial-default"] = 42 if column["name"] == "k" else "default"
    location.write_text(json.dumps(metadata))
    snapshot = PublishedTable(str(location), "t").current()
    rest = {"k": 42, "none": None}
    assert rows_of(snapshot) == [
        *({"n": n, "p": None, "day": None, **rest} for n in (1, 2)),
        *({"n": n, "p": "a", "day": date(2026, 1, 31), **rest} for n in (1, 2)),
    ]
    for wanted, files in (
        (over("k", 41), 2),
        (over("k", 42), 0),
        (over("day", 20_483, DATE), 1),
        (over("day", 20_484, DATE), 0),
        (over("p", "Z", STRING), 1),
        (over("p", "b", STRING), 0),
        (over("none", 0), 0),
    ):
        parts = snapshot.surviving([wanted])
        assert len(parts) == files
        assert exact_filters(parts, 1) == [0]


def over(name: str, value: Any, data_type: DataType = INTEGER) -> Compare:
    return Compare(Op.GREATER, Column((name,), data_type), Literal(value, data_type))


def test_files_without_field_ids_are_read_by_the_name_mapping(
    tmp_path: Path, catalog: Catalog
) -> None:
    table = create(catalog, n=LARGE, m=pa.string())
    added = tmp_path / "added.parquet"
    pq.write_table(pa.table({"n": [1, 2], "m": ["a", "b"]}), added)
    table.add_files([str(added)])
    with table.update_schema() as update:
        update.rename_column("m", "text")
    append(table, n=[3], text=["c"])
    check(table)
    with table.transaction() as change:
        change.remove_properties("schema.name-mapping.default")
    with pytest.raises(
        PublishError, match=r"added\.parquet has no field ids, and the table has no"
    ):
        published().current()


def test_file_that_is_there_twice_is_refused(tmp_path: Path, catalog: Catalog) -> None:
    table = create(catalog, n=LARGE)
    append(table, n=[1])
    added = [task.file.file_path for task in table.scan().plan_files()]
    table.add_files(added, check_duplicate_files=False)
    with pytest.raises(PublishError, match=r"t has the file .*\.parquet twice"):
        published().current()


# --- versions -----------------------------------------------------------------------------------


def test_planned_snapshot_is_read_while_others_write(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis.publish.tables._RELIST", 0.0)
    monkeypatch.setattr("tamis.publish.tables._SHARE", 0.0)
    writer = create(catalog, n=LARGE)
    append(writer, n=[1, 2])
    table = published()
    before = table.current()
    assert table.current() is before
    append(writer, n=[3])
    between = table.current().version
    with writer.update_schema() as update:
        update.rename_column("n", "m")
    writer.overwrite(pa.table({"m": [4]}))
    assert rows_of(table.current()) == [{"m": 4}]
    assert rows_of(before) == [{"n": 1}, {"n": 2}]
    assert table.at(before.version) is before
    # another process finds the same version
    assert sorted_rows(rows_of(published().at(between))) == [f"{{'n': {n}}}" for n in (1, 2, 3)]
    for version in ("9", "9:0", "x:0", "-1:0", f"{between}9"):
        with pytest.raises(PublishError, match="t no longer has the snapshot"):
            table.at(version)


def test_file_that_was_removed_is_an_error(catalog: Catalog) -> None:
    table = create(catalog, n=LARGE)
    append(table, n=[1])
    snapshot = published().current()
    (task,) = table.scan().plan_files()
    Path(task.file.file_path.removeprefix("file://")).unlink()
    with pytest.raises(PublishError, match=r"\.parquet was deleted after it was listed"):
        rows_of(snapshot)
    with pytest.raises(PublishError, match=r"t: .*\.parquet does not exist, but is a file of the"):
        published().current()


# --- where the metadata is ----------------------------------------------------------------------


def test_greatest_number_is_current_without_a_catalog(catalog: Catalog) -> None:
    table = create(catalog, n=LARGE)
    for n in range(12):
        append(table, n=[n])
    root = without_catalog(table)
    (root / "metadata" / "version-hint.text").write_text("2")  # may be late
    source = PublishedTable(str(root), "t")
    assert len(rows_of(source.current())) == 12
    hidden = root / "metadata" / "00013-0.metadata.json"
    hidden.write_text("{")
    with pytest.raises(PublishError, match="t is an Iceberg table of a catalog, and only"):
        PublishedTable(str(root), "t").current()


def test_directory_of_a_catalog_is_refused_and_its_metadata_file_is_read(catalog: Catalog) -> None:
    table = create(catalog, n=LARGE)
    append(table, n=[1])
    root = table.location().removeprefix("file://")
    newest = table.metadata_location.removeprefix("file://")
    says = "pass iceberg:catalog.namespace.table, or a metadata file such as " + re.escape(newest)
    with pytest.raises(PublishError, match=says):
        PublishedTable(root, "t").current()
    append(table, n=[2])
    assert rows_of(PublishedTable(newest, "t").current()) == [{"n": 1}]
    assert rows_of(PublishedTable(f"file://{newest}", "t").current()) == [{"n": 1}]


# --- deletes ------------------------------------------------------------------------------------


class DeleteManifest(ManifestWriterV2):
    """pyiceberg writes manifests of data files only."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def commit_file(table: Table, tmp_path: Path, **fields: Any) -> Path:
    """Write the metadata of a further snapshot, with one file more."""
    common = {
        "content": DataFileContent.DATA,
        "file_format": FileFormat.PARQUET,
        "partition": Record(),
        "record_count": 1,
        "file_size_in_bytes": 1,
    }
    statistics = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
    empty: dict[str, Any] = {name: {} for name in (*statistics, "lower_bounds", "upper_bounds")}
    file = DataFile.from_args(**{**common, **empty, **fields})
    file.spec_id = table.metadata.default_spec_id
    current = table.current_snapshot()
    parent = None if current is None else current.snapshot_id
    number, sequence = (parent or 0) + 1, table.metadata.last_sequence_number + 1
    name = tmp_path / f"commit-{number}"
    writer_of = ManifestWriterV2 if file.content == DataFileContent.DATA else DeleteManifest
    output = table.io.new_output(f"{name}.avro")
    with writer_of(table.spec(), table.schema(), output, number, "null") as writer:
        entry = ManifestEntry.from_args(
            status=ManifestEntryStatus.ADDED, snapshot_id=number, data_file=file
        )
        writer.add_entry(entry)
    manifests = [] if current is None else current.manifests(table.io)
    output = table.io.new_output(f"{name}-list.avro")
    with write_manifest_list(2, output, number, parent, sequence, "null") as lists:
        lists.add_manifests([*manifests, writer.to_manifest_file()])
    snapshot = Snapshot(
        snapshot_id=number,
        parent_snapshot_id=parent,
        sequence_number=sequence,
        timestamp_ms=table.metadata.last_updated_ms + 1,
        manifest_list=f"{name}-list.avro",
        summary=Summary(Operation.OVERWRITE),
        schema_id=table.metadata.current_schema_id,
    )
    updates = (
        AddSnapshotUpdate(snapshot=snapshot),
        SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=number),
    )
    path = tmp_path / f"commit-{number}.metadata.json"
    path.write_text(update_table_metadata(table.metadata, updates).model_dump_json())
    return path


def test_rows_of_position_deletes_are_left_out(tmp_path: Path, catalog: Catalog) -> None:
    table = create(catalog, n=LARGE)
    append(table, n=list(range(10)))
    append(table, n=[20, 21])
    paths = {t.file.record_count: t.file.file_path for t in table.scan().plan_files()}
    deletes = tmp_path / "deletes.parquet"
    rows = {"file_path": [paths[10]] * 3 + ["elsewhere"] * 2, "pos": [0, 5, 9, 1, 2]}
    pq.write_table(pa.table(rows), deletes)
    metadata = commit_file(
        table, tmp_path, content=DataFileContent.POSITION_DELETES, file_path=str(deletes)
    )
    snapshot = PublishedTable(str(metadata), "t").current()
    kept = [1, 2, 3, 4, 6, 7, 8, 20, 21]
    assert sorted(row["n"] for row in rows_of(snapshot)) == kept
    assert sorted(row["n"] for row in library_static(metadata)) == kept
    assert snapshot.rows is None
    for part in snapshot.surviving():
        pieces = [list(snapshot.reader.batches(p, ["n"])) for p in snapshot.pieces(part)]
        read = [n for each in pieces for batch in each for n in batch.column("n").to_pylist()]
        assert set(read) <= set(kept)
        assert len(read) in (7, 2)
    deletes.unlink()
    fresh = PublishedTable(str(metadata), "t").current()
    with pytest.raises(PublishError, match=r"the delete file .*deletes\.parquet cannot be read"):
        rows_of(fresh)


def library_static(metadata: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        StaticTable.from_metadata(str(metadata)).scan().to_arrow().to_pylist()
    )
    return rows


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (
            {"content": DataFileContent.EQUALITY_DELETES, "equality_ids": [1]},
            r"t has equality deletes, .*rewrite_data_files",
        ),
        (
            {"content": DataFileContent.POSITION_DELETES, "file_format": FileFormat.PUFFIN},
            r"t has deletion vectors, .*rewrite_data_files",
        ),
        (
            {"content": DataFileContent.POSITION_DELETES, "file_format": FileFormat.AVRO},
            "t: .* has the format AVRO",
        ),
    ],
)
def test_other_deletes_are_refused(
    tmp_path: Path, catalog: Catalog, fields: dict[str, Any], says: str
) -> None:
    table = create(catalog, n=LARGE)
    append(table, n=[1, 2])
    metadata = commit_file(table, tmp_path, file_path="deletes", **fields)
    with pytest.raises(PublishError, match=says):
        PublishedTable(str(metadata), "t").current()


# --- refusals -----------------------------------------------------------------------------------


def column(name: str, data_type: Any) -> dict[str, Any]:
    return {"id": 1, "name": name, "type": data_type, "required": False}


def struct(**more: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{**column("x", "int"), "id": 9, **more}]}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: m.update({"format-version": 4}), "t is an Iceberg table that cannot be read"),
        (lambda m: m["schemas"][0].update(fields=[column("n", "geometry")]), "type geometry"),
        (lambda m: m["schemas"][0].update(fields=[column("n", "string")]), "type int64 for n, but"),
        (lambda m: m["schemas"][0].update(fields=[column("n", "int")]), "type int64 for n, but"),
        (
            lambda m: m["schemas"][0]["fields"].append({**column("N", "long"), "id": 2}),
            "names that differ in case only",
        ),
        (
            lambda m: m["schemas"][0]["fields"].append(
                {**column("s", struct(**{"initial-default": 5})), "id": 2}
            ),
            "a field of s has an initial default",
        ),
        (lambda m: m["snapshots"][0].pop("manifest-list"), "t .*manifest"),
        (
            lambda m: m.update({"location": "s3://bucket/t"}),
            "which is not in the storage of the table",
        ),
        (lambda m: m.clear(), "t is an Iceberg table that cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused(
    tmp_path: Path, catalog: Catalog, change: Callable[[Any], Any], says: str
) -> None:
    table = create(catalog, n=LARGE)
    append(table, n=[1])
    metadata = json.loads(Path(table.metadata_location.removeprefix("file://")).read_text())
    change(metadata)
    path = tmp_path / "changed.metadata.json"
    path.write_text(json.dumps(metadata))
    with pytest.raises(PublishError, match=says):
        PublishedTable(str(path), "t").current()


def test_partition_by_a_field_of_a_struct_is_refused(catalog: Catalog) -> None:
    table = create(catalog, s=pa.struct({"x": LARGE}))
    partition_by(table, "s.x")
    append(table, s=[{"x": 1}])
    with pytest.raises(PublishError, match=r"t is partitioned by s\.x, a field of a struct"):
        published().current()


def test_unknown_catalogs_and_tables_are_errors(catalog: Catalog) -> None:
    for name, says in (
        ("iceberg:nowhere.db.t", "t is an Iceberg table that cannot be read"),
        ("iceberg:lake.db.nothing", "t is an Iceberg table that cannot be read .*nothing"),
        ("iceberg:lake", "lake does not have the form catalog.namespace.table"),
    ):
        with pytest.raises(PublishError, match=says):
            PublishedTable(name, "t").current()


def test_missing_package_is_named(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    create(catalog, n=LARGE)
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    with pytest.raises(PublishError, match=r"needs the package pyiceberg .*tamis\[iceberg\]"):
        published().current()
