"""Tables that Spark wrote: the same files, deletes and metrics as Iceberg reads, and no row lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.dataset as ds
import pytest

from tamis.evaluation.domain.bounds import Bounds
from tamis.expr.nodes import Column
from tamis.expr.types import BOOLEAN, DATE, DOUBLE, INTEGER, LONG, STRING, DataType, decimal
from tamis.tables.iceberg import IcebergFiles, IcebergSnapshots
from tamis.wire.iceberg import IcebergSnapshot
from tests.launch.statements import Statements
from tests.tables.iceberg.verdict_check import (
    check_manifest_pruning,
    check_verdicts,
    columns_of,
    predicates,
)

pytestmark = [pytest.mark.spark, pytest.mark.programs]

#: Columns of which some predicate rules out some file, for each table.
PRUNED = {
    "flat": {"p", "i", "renamed", "f", "d", "d9", "d18", "d38", "dt", "ntz", "b", "st.xx", "n", "t"},
    "parts": {"i", "l", "s", "ntz", "p", "dt", "d18", "st.x", "st.y.z"},
    "old": {"i", "l", "ntz", "d9"},
    "upgraded": {"i", "p"},
    "deletes2": {"i", "p"},
    "by_file": {"i", "d9"},
    "vectors": {"t", "p"},
    "modes": {"i", "f", "t"},
    "empty": set(),
    "added": {"i", "l", "d9", "dt"},
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("iceberg")


@pytest.fixture(scope="module")
def documents(formats: Statements, folder: Path) -> dict[str, Any]:
    """Write the tables once. Return what Iceberg says about each."""
    found = formats.function("tests.formats.iceberg_tables:write", folder=str(folder))
    documents: dict[str, Any] = json.loads(json.dumps(found), parse_float=Decimal)
    return documents


def opened(document: dict[str, Any], cache: Path | None = None) -> IcebergFiles:
    descriptor = msgspec.convert(document["snapshot"], IcebergSnapshot)
    return IcebergSnapshots().open(descriptor, {}, None if cache is None else str(cache))


def test_files_and_deletes_equal_those_of_iceberg(
    documents: dict[str, Any], tmp_path: Path
) -> None:
    for name, document in documents.items():
        for _ in range(2):  # without and with cached manifests
            files = opened(document, tmp_path)
            by_location = {each["file_path"]: each for each in document["files"]}
            locations = files.locations.to_pylist()
            assert locations == sorted(by_location), name
            deletes = files.deletes
            for n, location in enumerate(locations):
                file = by_location[location]
                assert files.num_records[n] == file["record_count"]
                assert files.sizes[n] == file["file_size_in_bytes"]
                applied = document["tasks"][location]
                vectors = [count for _, form, count in applied if form == "PUFFIN"]
                kinds = {kind for kind, form, _ in applied if form != "PUFFIN"}
                assert deletes.position_deletes[n] == ("POSITION_DELETES" in kinds), name
                assert deletes.equality_deletes[n] == ("EQUALITY_DELETES" in kinds), name
                assert deletes.deletion_vectors[n] == bool(vectors), name
                expected = -1 if kinds else sum(vectors)
                assert deletes.deleted_records[n] == expected, name


def test_no_row_is_lost(folder: Path, documents: dict[str, Any]) -> None:
    for name, expected in PRUNED.items():
        files = opened(documents[name])
        rows = ds.dataset(folder / "rows" / name, format="parquet").to_table()
        useful = check_verdicts(files, rows)
        assert expected <= {path for path, times in useful.items() if times}, name


def test_no_row_is_lost_with_the_manifests_that_are_left_out(
    folder: Path, documents: dict[str, Any]
) -> None:
    left_out = 0
    snapshots = IcebergSnapshots()
    for name in ("parts", "old", "upgraded", "vectors"):
        descriptor = msgspec.convert(documents[name]["snapshot"], IcebergSnapshot)
        rows = ds.dataset(folder / "rows" / name, format="parquet").to_table()
        for column, values in columns_of(rows):
            found = {
                each: snapshots.open(snapshots.choose(descriptor, {}, [each]).snapshot, {}, None)
                for each in predicates(column, values)
            }
            check_manifest_pruning(found, rows, values)
            left_out += sum(each.manifests_total - len(each.manifests) for each in found.values())
    assert left_out > 100


METRICS: list[tuple[str, DataType, Callable[[Any], Any]]] = [
    ("i", LONG, int),
    ("renamed", LONG, int),
    ("f", DOUBLE, float),
    ("d", DOUBLE, float),
    ("d9", decimal(20, 2), Decimal),
    ("d18", decimal(18, 4), lambda value: int(value * 10000)),
    ("b", BOOLEAN, int),
    ("t", STRING, lambda value: value.encode()),
    ("p", INTEGER, int),
    ("st.xx", LONG, int),
]


def test_bounds_equal_the_readable_metrics(documents: dict[str, Any]) -> None:
    document = documents["flat"]
    files = opened(document)
    by_location = {each["file_path"]: each["readable_metrics"] for each in document["files"]}
    metrics = [by_location[each] for each in files.locations.to_pylist()]
    for name, data_type, convert in METRICS:
        bounds = files.statistics.bounds(Column(tuple(name.split(".")), data_type))
        of_column = [each[name] for each in metrics]
        lower, upper = edges(bounds)
        assert known(of_column, "lower_bound", convert, lower), name
        assert known(of_column, "upper_bound", convert, upper), name
    days = files.statistics.bounds(Column(("dt",), DATE))
    assert days.lower is not None
    assert len(days.lower) == len(files)


def edges(bounds: Bounds) -> tuple[list[Any], list[Any]]:
    assert bounds.lower is not None
    assert bounds.upper is not None
    return bounds.lower.tolist(), bounds.upper.tolist()


def known(
    metrics: list[dict[str, Any]], bound: str, convert: Callable[[Any], Any], found: list[Any]
) -> bool:
    """Return whether the bounds that are written are those that were found."""
    pairs = [(each.get(bound), value) for each, value in zip(metrics, found, strict=True)]
    present = [(convert(each), value) for each, value in pairs if each is not None]
    return bool(present) and all(written == value for written, value in present)
