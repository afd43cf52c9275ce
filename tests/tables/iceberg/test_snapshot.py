"""Opening snapshots: what is listed, what is refused, and what is kept."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from msgspec.structs import replace

from tamis.evaluation import verdicts
from tamis.expr.types import LONG, STRING
from tamis.tables.iceberg import (
    IcebergSnapshots,
    SnapshotUnreadable,
    UnreadableCode,
    open_snapshot,
    snapshot,
)
from tamis.tables.iceberg.decoding import decode_manifest
from tamis.tables.iceberg.manifest_cache import from_table, to_table
from tamis.wire.iceberg import IcebergSnapshot
from tests.tables.iceberg.hand_made import File, Lake, integer, long
from tests.tables.iceberg.test_statistics import EQUAL, compare

COLUMNS = [(1, "c", "long"), (2, "s", "string")]
FIVE = {"lower": {1: long(5)}, "upper": {1: long(5)}, "nulls": {1: 0}}


def refused(lake: Lake, code: UnreadableCode, **changes: Any) -> str:
    with pytest.raises(SnapshotUnreadable) as caught:
        IcebergSnapshots().open(replace(lake.snapshot(), **changes), {}, None)
    assert caught.value.code == code
    assert caught.value.text == str(caught.value)
    return caught.value.text


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize(
    ("codec", "records_per_block"), [("deflate", 1), ("null", 1), ("null", 99), ("zstandard", 99)]
)
def test_live_files_are_listed_by_location(
    tmp_path: Path, version: int, codec: str, records_per_block: int
) -> None:
    lake = Lake(tmp_path, COLUMNS, version=version)
    files = [File(f"/x {n}", records=n, size=n + 1, **FIVE) for n in (3, 1, 2)]
    options: Any = {"codec": codec, "records_per_block": records_per_block}
    lake.add(*files, File("/gone", status=2), **options)
    lake.add(File("/a", status=0, format="orc", key_metadata=b"k"), **options)
    lake.add(**options)
    found = lake.open()
    assert found.locations.to_pylist() == ["/a", "/x 1", "/x 2", "/x 3"]
    assert found.uris.to_pylist() == ["/a", "/x%201", "/x%202", "/x%203"]
    assert found.num_records.tolist() == [10, 1, 2, 3]
    assert found.sizes.tolist() == [1000, 2, 3, 4]
    assert (found.total_files, found.total_records) == (4, 16)
    assert verdicts(compare(EQUAL, 5, LONG), found.statistics).tolist() == [1, 2, 2, 2]


def test_tables_without_a_snapshot_are_empty() -> None:
    schema = '{"type": "struct", "fields": []}'
    files = open_snapshot(IcebergSnapshot(2, None, None, schema, []), {}, None)
    assert len(files) == 0
    assert (files.total_files, files.total_records) == (0, 0)
    assert verdicts(compare(EQUAL, 5, LONG), files.statistics).tolist() == []


def test_what_is_refused(tmp_path: Path) -> None:
    lake = Lake(tmp_path, COLUMNS)
    path = lake.add(File("/a"))
    for version in (0, 4, 5):
        assert str(version) in refused(lake, UnreadableCode.FORMAT_VERSION, format_version=version)
    refused(lake, UnreadableCode.NO_MANIFEST_LIST, manifest_list=None)
    refused(lake, UnreadableCode.METADATA, schema="{}")
    refused(lake, UnreadableCode.METADATA, schema="{")
    refused(lake, UnreadableCode.METADATA, specs=["[]"])
    refused(lake, UnreadableCode.STORAGE, manifest_list="/no/where.avro")
    refused(lake, UnreadableCode.STORAGE, manifest_list="nosuch://x/where.avro")
    refused(lake, UnreadableCode.LOCATION, manifest_list="where.avro")
    whole = path.read_bytes()
    for damaged in (b"", b"Obj", whole[:40], whole[:-1], whole[:-40], b"x" + whole[1:]):
        path.write_bytes(damaged)
        refused(lake, UnreadableCode.METADATA)
    middle = len(whole) - 30
    path.write_bytes(
        whole[:middle] + bytes(each ^ 0xFF for each in whole[middle:-16]) + whole[-16:]
    )
    refused(lake, UnreadableCode.METADATA)
    path.unlink()
    refused(lake, UnreadableCode.STORAGE)


def test_unexpected_entries_are_refused(tmp_path: Path) -> None:
    lake = Lake(tmp_path, COLUMNS)
    lake.add(File("/a", status=3))
    refused(lake, UnreadableCode.METADATA)
    lake = Lake(tmp_path, COLUMNS)
    lake.add(File("/a"), key_metadata=b"key")
    refused(lake, UnreadableCode.ENCRYPTED)
    lake = Lake(tmp_path, COLUMNS)
    lake.add(File("relative"))
    refused(lake, UnreadableCode.LOCATION)


@pytest.mark.parametrize("twice", ["/a", "//a"])
def test_the_same_file_twice_is_refused(tmp_path: Path, twice: str) -> None:
    lake = Lake(tmp_path, COLUMNS)
    lake.add(File("file:/a"))
    lake.add(File(f"file:{'/' if twice == '//a' else ''}/a"))
    if twice == "/a":
        assert "twice" in refused(lake, UnreadableCode.METADATA)
    lake = Lake(tmp_path, COLUMNS)
    lake.add(File("/a"), File("/b"))
    lake.add(File("/a/" if twice == "//a" else "/a"))
    assert "twice" in refused(lake, UnreadableCode.METADATA)


def test_without_polars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake(tmp_path, COLUMNS)
    lake.add(File("/a"))
    monkeypatch.setitem(sys.modules, "polars", None)
    assert "pip install 'tamis[iceberg]'" in refused(lake, UnreadableCode.NO_POLARS)


def test_panics_of_polars_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Panic(BaseException):
        pass

    def panic(_: object) -> None:
        raise Panic

    lake = Lake(tmp_path, COLUMNS)
    lake.add(File("/a"))
    monkeypatch.setattr(polars, "read_avro", panic)
    refused(lake, UnreadableCode.METADATA)


# --- caches -------------------------------------------------------------------------------------


def entries(cache: Path) -> list[Path]:
    return sorted(cache.rglob("table.arrow"))


def test_manifests_are_read_once_ever(tmp_path: Path) -> None:
    lake = Lake(tmp_path, COLUMNS)
    paths = [lake.add(File(f"/{n}", **FIVE)) for n in range(3)]
    cache = tmp_path / "cache"
    first = lake.open(cache)
    assert len(entries(cache)) == 3
    for path in paths:
        path.unlink()
    again = lake.open(cache)
    assert again.locations.equals(first.locations)
    assert verdicts(compare(EQUAL, 4, LONG), again.statistics).tolist() == [0, 0, 0]
    with pytest.raises(SnapshotUnreadable):
        lake.open()


def test_manifests_without_live_files(tmp_path: Path) -> None:
    lake = Lake(tmp_path, COLUMNS)
    lake.add(File("/gone", status=2), counts=(1, 1))  # the counts are wrong
    lake.add(counts=(1, 1))
    lake.add(File("/a"))
    for _ in range(2):
        assert lake.open(tmp_path / "cache").locations.to_pylist() == ["/a"]


def test_cached_manifests_do_not_depend_on_the_schema(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, "c", "int"), (2, "s", "string")])
    five = integer(5)
    lake.add(File("/a", lower={1: five, 2: b"a"}, upper={1: five, 2: b"b"}))
    lake.open(tmp_path / "cache")
    lake.columns = [(2, "c", "string"), (1, "s", "long")]
    statistics = lake.open(tmp_path / "cache").statistics
    assert verdicts(compare(EQUAL, 4, LONG, "s"), statistics).tolist() == [0]
    assert verdicts(compare(EQUAL, "c", STRING, "c"), statistics).tolist() == [0]


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "zeros", "sum", "other"])
def test_damaged_cache_files_are_written_again(tmp_path: Path, damage: str) -> None:
    lake = Lake(tmp_path, COLUMNS)
    lake.add(*(File(f"/{n}", **FIVE) for n in range(500)))
    cache = tmp_path / "cache"
    lake.open(cache)
    (entry,) = entries(cache)
    whole = entry.read_bytes()
    middle = len(whole) // 2
    # a new file: the first opening has the old one mapped
    entry.unlink()
    if damage == "other":
        other = Lake(tmp_path / "other", COLUMNS)
        other.folder.mkdir()
        other.add(File("/x"))
        other.open(tmp_path / "other cache")
        (foreign,) = entries(tmp_path / "other cache")
        entry.write_bytes(foreign.read_bytes())
        entry.with_name("sum").write_bytes(foreign.with_name("sum").read_bytes())
    elif damage == "sum":
        entry.write_bytes(whole)
        entry.with_name("sum").write_text("0")
    else:
        entry.write_bytes(
            {
                "cut": whole[:middle],
                "flipped": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
                "empty": b"",
                "zeros": whole[:middle] + bytes(len(whole) - middle),
            }[damage]
        )
    found = lake.open(cache)
    assert len(found) == 500
    assert verdicts(compare(EQUAL, 4, LONG), found.statistics).tolist() == [0] * 500
    (entry,) = entries(cache)
    assert entry.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_not_needed(tmp_path: Path) -> None:
    lake = Lake(tmp_path, COLUMNS)
    lake.add(File("/a"))
    (tmp_path / "file").write_text("")
    assert len(lake.open(tmp_path / "file")) == 1


def test_concurrent_openings(tmp_path: Path) -> None:
    lake = Lake(tmp_path, COLUMNS)
    for n in range(5):
        lake.add(*(File(f"/{n} {k}", **FIVE) for k in range(50)))
    descriptor = lake.snapshot()
    shared, cache = IcebergSnapshots(), str(tmp_path / "cache")
    ready = threading.Barrier(8)

    def one(n: int) -> list[str]:
        ready.wait()
        snapshots = shared if n % 2 else IcebergSnapshots()
        found: list[str] = snapshots.open(descriptor, {}, cache).locations.to_pylist()
        return found

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(one, range(8)))
    assert all(each == answers[0] for each in answers)
    assert len(answers[0]) == 250
    assert len(entries(tmp_path / "cache")) == 5


def test_manifests_survive_the_cache(tmp_path: Path) -> None:
    lake = Lake(tmp_path, COLUMNS)
    path = lake.add(File("/a", **FIVE), File("/b", nulls={2: 3}), File("/c"))
    manifest = decode_manifest(path.read_bytes(), "m")
    copy = from_table(to_table(manifest))
    assert copy.files.equals(manifest.files)
    assert copy.metrics.keys() == manifest.metrics.keys()
    for kind, metrics in manifest.metrics.items():
        for field_id in (0, 1, 2, 3):
            found, expected = copy.metrics[kind].of(field_id), metrics.of(field_id)
            assert (found is None) == (expected is None)
            if found is not None and expected is not None:
                assert np.array_equal(found[0], expected[0])
                assert found[1].equals(expected[1])


def test_snapshots_are_kept_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake(tmp_path, COLUMNS)
    path = lake.add(File("/a", **FIVE))
    monkeypatch.setattr(snapshot, "_MAX_SNAPSHOTS", 1)
    descriptor, snapshots = lake.snapshot(), IcebergSnapshots()
    first = snapshots.open(descriptor, {}, None)
    path.unlink()
    os.unlink(str(descriptor.manifest_list))
    assert snapshots.open(descriptor, {}, None) is first
    with pytest.raises(SnapshotUnreadable):  # other credentials may not be allowed to read it
        snapshots.open(descriptor, {"fs.s3a.access.key": "other"}, None)
    swapped = '{"type": "struct", "fields": [{"id": 1, "name": "d", "type": "long"}]}'
    second = snapshots.open(replace(descriptor, schema=swapped), {}, None)
    assert second is not first
    assert verdicts(compare(EQUAL, 4, LONG, "d"), second.statistics).tolist() == [0]
    assert snapshots.open(descriptor, {}, None) is not first
