"""Delta writes tables of all kinds. No statistic of a file contradicts its rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.indexing.read.snapshot import FileKeys
from tamis.tables.delta import DeltaStatistics, DeltaTables
from tamis.tables.delta.columns import table_columns
from tamis.wire.delta import DeltaSnapshot
from tests.launch.statements import Statements
from tests.tables.delta.holding import known_edges, problems
from tests.tables.delta.logs import files

pytestmark = pytest.mark.spark

CHECKPOINTS = ("classic", "parts", "v2_json", "v2_parquet", "structs")
TABLES = (
    *("types", *CHECKPOINTS, "vectors", "mapped_name", "mapped_id", "widened_texts"),
    *("widened_structs", "parted"),
)


@dataclass(frozen=True)
class Written:
    """A table: the files of its log, its data files, and the rows of each."""

    snapshot: DeltaSnapshot
    listing: FileKeys
    rows: list[list[Mapping[str, Any]]]

    @property
    def columns(self) -> dict[tuple[str, ...], str]:
        snapshot = self.snapshot
        mapped = table_columns(snapshot.schema, snapshot.column_mapping, snapshot.partition_columns)
        return {each.path: str(each.type) for each in mapped.columns}

    def statistics(self, cache: Path) -> DeltaStatistics:
        return DeltaTables().statistics_of(self.snapshot, self.listing, {}, str(cache))


Open = Callable[[str], Written]


@pytest.fixture(scope="module")
def written(formats: Statements, tmp_path_factory: pytest.TempPathFactory) -> Open:
    """Write the tables once. Return how to open one."""
    folder = tmp_path_factory.mktemp("delta")
    described = formats.function("tests.formats.delta_tables:write", folder=str(folder))
    assert set(described) == set(TABLES)
    return lambda name: opened(folder, described[name], name)


def opened(folder: Path, described: Mapping[str, Any], name: str) -> Written:
    directory = Path(described["location"])
    log = directory / "_delta_log"
    root = f"file:{quote(str(directory))}"
    numbers = {
        path: int(path.name.split(".")[0]) for path in log.iterdir() if path.name[0].isdigit()
    }
    checkpoints = {path: each for path, each in numbers.items() if ".checkpoint." in path.name}
    last = max(checkpoints.values(), default=-1)
    commits = {
        path: each for path, each in numbers.items() if re.fullmatch(r"\d+\.json", path.name)
    }
    metadata = [
        action["metaData"]
        for path in sorted(commits)
        for action in map(json.loads, path.read_text().splitlines())
        if "metaData" in action
    ]
    snapshot = DeltaSnapshot(
        max(commits.values()),
        root,
        [f"{root}/_delta_log/{path.name}" for path, each in checkpoints.items() if each == last],
        [f"{root}/_delta_log/{path.name}" for path in sorted(commits) if commits[path] > last],
        metadata[-1]["schemaString"],
        described["mapping"],
        described["partitions"],
    )
    by_file: dict[str, list[Mapping[str, Any]]] = {}
    table = pq.read_table(folder / "rows" / name)
    for k, each in enumerate(table.schema):
        if pa.types.is_string(each.type):  # which need not be UTF-8
            table = table.set_column(k, each.name, table.column(k).cast(pa.binary()))
    for row in table.to_pylist():
        by_file.setdefault(row["_file"].decode(), []).append(row)
    pairs = [path.rpartition("/")[::2] for path in by_file]
    directories = [*dict.fromkeys(parent for parent, _ in pairs)]
    group = pa.array([directories.index(parent) for parent, _ in pairs], pa.int32())
    one = files("", [name for _, name in pairs])
    listing = FileKeys(tuple(directories), pa.chunked_array([group]), one.name, one.size, one.mtime)
    return Written(snapshot, listing, list(by_file.values()))


@pytest.mark.parametrize("name", TABLES)
def test_no_statistic_contradicts_the_rows(written: Open, tmp_path: Path, name: str) -> None:
    table = written(name)
    statistics = table.statistics(tmp_path)
    assert statistics.described == len(table.rows) > 0
    assert problems(statistics, table.rows, table.columns) == []
    # and again from the local cache
    assert problems(table.statistics(tmp_path), table.rows, table.columns) == []


def test_most_bounds_are_known(written: Open, tmp_path: Path) -> None:
    table = written("types")
    statistics = table.statistics(tmp_path)
    edges = {path: known_edges(statistics, path, name) for path, name in table.columns.items()}
    assert {path for path, count in edges.items() if not count} == {("bo",), ("bi",)}
    # a file without a value has no bounds; that of old dates and of NaN is unknown
    assert all(count > len(table.rows) for count in edges.values() if count)
    assert (statistics.num_records > 0).all()


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_checkpoints_are_of_their_kind(written: Open, name: str) -> None:
    snapshot = written(name).snapshot
    assert snapshot.version > 0
    assert (len(snapshot.checkpoint) > 1) == (name == "parts")
    (first, *_) = snapshot.checkpoint
    sidecars = Path(snapshot.root.removeprefix("file:").replace("%20", " "), "_delta_log/_sidecars")
    assert first.endswith(".json") == (name == "v2_json")
    assert sidecars.exists() == name.startswith("v2")
    if name == "structs":
        path = first.removeprefix("file:").replace("%20", " ")
        fields = {each.name for each in pq.read_schema(path).field("add").type}
        assert "stats_parsed" in fields
        assert "stats" not in fields or not any(
            each is not None
            for each in pq.read_table(path, columns=["add.stats"]).flatten().column(0).to_pylist()
        )


def test_deletion_vectors_are_counted(written: Open, tmp_path: Path) -> None:
    table = written("vectors")
    statistics = table.statistics(tmp_path)
    assert (statistics.num_records >= 0).all()
    # fewer rows than the log has in some file
    assert (statistics._records.to_numpy() > statistics.num_records).any()


@pytest.mark.parametrize("name", ["mapped_name", "mapped_id"])
def test_renamed_columns_are_known(written: Open, tmp_path: Path, name: str) -> None:
    table = written(name)
    statistics = table.statistics(tmp_path)
    assert known_edges(statistics, ("a",), "integer") >= 2
    assert known_edges(statistics, ("s", "x"), "integer") >= 2
    assert 0 < known_edges(statistics, ("new one",), "integer") < 2 * len(table.rows)
