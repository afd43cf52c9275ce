"""Tables that pyiceberg wrote: the same files as it lists, and no row lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType

from tamis.tables.iceberg import IcebergFiles, IcebergSnapshots
from tamis.wire.iceberg import IcebergSnapshot
from tests.publish.lakes import mixed_rows
from tests.tables.iceberg.verdict_check import (
    check_manifest_pruning,
    check_verdicts,
    columns_of,
    predicates,
)


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    uri, warehouse = f"sqlite:///{tmp_path}/catalog.db", f"file://{tmp_path}/ware house"
    made = SqlCatalog("lake", uri=uri, warehouse=warehouse)
    made.create_namespace("db")
    return made


def descriptor(table: Table) -> IcebergSnapshot:
    metadata, snapshot = table.metadata, table.current_snapshot()
    assert snapshot is not None
    return IcebergSnapshot(
        metadata.format_version,
        snapshot.snapshot_id,
        snapshot.manifest_list,
        table.schema().model_dump_json(),
        [each.model_dump_json() for each in metadata.partition_specs],
    )


def rows_of(files: IcebergFiles, table: Table) -> pa.Table:
    """Return the rows of each file, read by field id, in the types of the table."""
    schema = table.schema().as_arrow()
    ids = {each.field_id: each.name for each in table.schema().fields}
    parts = []
    for location in files.locations.to_pylist():
        rows = pq.ParquetFile(location.removeprefix("file://")).read()
        by_name = {
            ids.get(int(field.metadata[b"PARQUET:field_id"]), ""): rows.column(n)
            for n, field in enumerate(rows.schema)
        }
        columns: dict[str, Any] = {"_file": pa.array([location] * len(rows))}
        for field in schema:
            data_type = pa.string() if pa.types.is_large_string(field.type) else field.type
            missing = pa.nulls(len(rows), data_type)
            columns[field.name] = by_name.get(field.name, missing).cast(data_type)
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)


@pytest.mark.parametrize("version", ["1", "2"])
def test_mixed_columns_that_change(tmp_path: Path, catalog: SqlCatalog, version: str) -> None:
    """The columns have other names and narrower types in the first files."""
    parts = mixed_rows(tmp_path / "source")
    old = {"i": "i_before", "dbl": "d", "d": "dbl"}  # two of them are swapped
    first = parts[0].rename_columns([old.get(name, name) for name in parts[0].schema.names])
    fields = {each.name: each.type for each in first.schema}
    fields["id"] = pa.int32()
    table = catalog.create_table("db.t", pa.schema(fields), properties={"format-version": version})
    with table.update_spec() as update:
        for name in ("p", "q"):
            update.add_field(name, IdentityTransform(), f"{name}_part")
    for part in parts[:4]:
        renamed = part.rename_columns([old.get(name, name) for name in part.schema.names])
        table.append(renamed.cast(pa.schema([(n, fields[n]) for n in renamed.schema.names])))
    for before, after in (("i_before", "i"), ("d", "x"), ("dbl", "d"), ("x", "dbl")):
        with table.update_schema() as change:
            change.rename_column(before, after)
    with table.update_schema() as change:
        change.update_column("id", LongType())
    with table.update_spec() as update:
        update.remove_field("q_part")
    for part in parts[4:]:
        table.append(part.select([each.name for each in table.schema().fields]))
    table.delete(EqualTo("p", 2))
    snapshots, snapshot = IcebergSnapshots(), descriptor(table)
    files = snapshots.open(snapshot, {}, str(tmp_path / "cache"))
    listed = table.inspect.data_files()
    assert files.locations.to_pylist() == sorted(listed.column("file_path").to_pylist())
    assert sum(files.num_records.tolist()) == sum(listed.column("record_count").to_pylist())
    assert files.total_files == len(files)
    rows = rows_of(files, table)
    useful = check_verdicts(files, rows)
    assert {"id", "i", "dbl", "d", "p"} <= {name for name, times in useful.items() if times}
    for column, values in columns_of(rows):
        opened = {
            each: snapshots.open(snapshots.choose(snapshot, {}, [each]).snapshot, {}, None)
            for each in list(predicates(column, values))[:20]
        }
        check_manifest_pruning(opened, rows, values)
