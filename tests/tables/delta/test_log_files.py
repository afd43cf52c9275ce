"""Which actions count, in all forms of a log, and how damaged logs are refused."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.tables.delta import DeltaTables, SnapshotUnreadable
from tests.tables.delta.logs import (
    Log,
    add,
    column,
    edges,
    files,
    flags,
    remove,
    schema_of,
    stats,
    struct,
    struct_field,
)

LONG = schema_of(c="long")


def of(value: int) -> dict[str, Any]:
    return stats(10, {"c": value}, {"c": value}, {"c": 0})


def values(log: Log, *names: str, **more: Any) -> list[int | None]:
    """Return the lower bound of each file; None if it is unknown."""
    bounds = log.statistics(*names, **more).bounds(column("c", "long"))
    return [edges(bounds, place)[0] for place in range(len(names))]


def checkpoint(adds: Sequence[dict[str, Any]], removes: Sequence[str] = ()) -> pa.Table:
    """Return a checkpoint with one row per action."""
    rows: list[dict[str, Any]] = [{"add": each["add"]} for each in adds]
    rows += [{"remove": {"path": each}} for each in removes]
    rows.append({"protocol": {"minReaderVersion": 1, "readerFeatures": ["deletionVectors"]}})
    add_type = pa.struct(
        [
            ("path", pa.string()),
            ("stats", pa.string()),
            (
                "deletionVector",
                pa.struct([("storageType", pa.string()), ("cardinality", pa.int64())]),
            ),
        ]
    )
    protocol = pa.struct(
        [("minReaderVersion", pa.int32()), ("readerFeatures", pa.list_(pa.string()))]
    )
    schema = {"add": add_type, "remove": pa.struct([("path", pa.string())]), "protocol": protocol}
    return pa.Table.from_pylist(rows, pa.schema(list(schema.items())))


def test_the_last_action_counts(tmp_path: Path) -> None:
    log = Log(tmp_path, LONG)
    log.parquet(checkpoint([add("a", of(1)), add("b", of(2)), add("c", of(3))]))
    log.commit(remove("a"), add("d", of(4)))
    log.commit(add("b", of(5)))
    log.commit(remove("d"))
    log.commit(add("d", of(6)))
    assert values(log, "d", "c", "b", "a", "unknown") == [6, 3, 5, None, None]
    assert log.statistics("d", "a").described == 1


@pytest.mark.parametrize("is_first", [True, False])
def test_an_addition_counts_before_a_removal_in_a_commit(tmp_path: Path, is_first: bool) -> None:
    """A commit that replaces a deletion vector removes the file and adds it, in any order."""
    log = Log(tmp_path, LONG)
    log.commit(add("a", of(1)))
    actions = [add("a", of(1), {"cardinality": 4}), remove("a")]
    log.commit(*(actions if is_first else actions[::-1]))
    assert log.statistics("a").num_records.tolist() == [6]


def test_removals_of_a_checkpoint_are_tombstones(tmp_path: Path) -> None:
    log = Log(tmp_path, LONG)
    log.parquet(checkpoint([add("a", of(1), {"cardinality": 2})], ["a"]))
    assert log.statistics("a").num_records.tolist() == [8]


def test_the_last_of_two_additions_in_one_file(tmp_path: Path) -> None:
    log = Log(tmp_path, LONG)
    log.commit(add("a", of(1)), add("b", of(5)), add("a", of(2)))
    assert values(log, "a", "b") == [2, 5]


def test_a_listing_may_be_a_part_and_repeat_files(tmp_path: Path) -> None:
    log = Log(tmp_path, LONG)
    log.commit(*(add(f"f{k}", of(k)) for k in range(100)))
    assert values(log, "f7", "f99", "f7") == [7, 99, 7]
    assert values(log) == []


@pytest.mark.parametrize(
    ("in_log", "listed"),
    [
        ("a%20b", "a%20b"),
        ("p=x%253Ay/f", "p=x%253Ay/f"),
        ("a+b", "a+b"),
        ("%61%2Bb", "a+b"),
        ("%C3%A9", "é"),
        ("é", "%C3%A9"),
        ("%FF", "%FF"),
        ("a!'()*", "a%21%27%28%29%2A"),
    ],
)
def test_paths_differ_in_what_is_escaped(tmp_path: Path, in_log: str, listed: str) -> None:
    log = Log(tmp_path / "with space+%41", LONG)
    log.commit(add(in_log, of(1)))
    directory, _, name = listed.rpartition("/")
    where = f"{log.root}/{directory}" if directory else log.root
    assert values(log, name, directory=where) == [1]
    assert values(log, name, directory=where.replace("file:/", "file:///")) == [1]


def test_different_bytes_that_are_not_text_are_different_paths(tmp_path: Path) -> None:
    log = Log(tmp_path, LONG)
    log.commit(add("%FE", of(1)), add("%FF", of(2)))
    assert values(log, "%FF", "%FE") == [2, 1]


def test_absolute_paths_of_shallow_clones(tmp_path: Path) -> None:
    log = Log(tmp_path, LONG)
    log.commit(
        add("file:///source/t/a%20b", of(1)),
        add("file:/source/t/c", of(2)),
        add("/source/t/d", of(3)),
        add("s3a://bucket/t/e", of(4)),
    )
    names = ("a%20b", "c", "d", "e")
    assert values(log, *names, directory="file:/source/t") == [1, 2, 3, None]
    assert values(log, *names, directory="s3a://bucket/t") == [None, None, None, 4]
    assert values(log, *names) == [None] * 4


def test_checkpoint_in_parts_and_a_compacted_commit(tmp_path: Path) -> None:
    log = Log(tmp_path, LONG)
    log.parquet(checkpoint([add("a", of(1))]), "9.checkpoint.1.2.parquet")
    log.parquet(checkpoint([add("b", of(2))]), "9.checkpoint.2.2.parquet")
    log.commit(remove("a"), add("c", of(3)))
    compacted = log.path / "10.12.compacted.json"
    os.rename(log.path / f"{0:020}.json", compacted)
    log.commits = [log.uri(compacted.name)]
    assert values(log, "a", "b", "c") == [None, 2, 3]


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_v2_checkpoint_with_sidecars(tmp_path: Path, form: str) -> None:
    log = Log(tmp_path, LONG)
    folder = log.path / "_sidecars"
    folder.mkdir()
    sidecars = []
    for k, is_absolute in enumerate((False, True)):
        path = folder / f"s{k}.parquet"
        pq.write_table(checkpoint([add(f"f{k}", of(k))]), path)
        name = log.uri(f"_sidecars/{path.name}") if is_absolute else path.name
        sidecars.append({"path": name, "sizeInBytes": path.stat().st_size, "modificationTime": 5})
    if form == "json":
        lines = [{"sidecar": each} for each in sidecars]
        lines += [add("g", of(7)), remove("f0"), {"checkpointMetadata": {"version": 9}}]
        (log.path / "9.checkpoint.u.json").write_text("\n".join(map(json.dumps, lines)))
        log.checkpoint.append(log.uri("9.checkpoint.u.json"))
    else:
        rows: list[dict[str, Any]] = [{"sidecar": each, "add": None} for each in sidecars]
        rows.append({"sidecar": None, "add": add("g", of(7))["add"]})
        types = pa.struct(
            [("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())]
        )
        add_type = pa.struct([("path", pa.string()), ("stats", pa.string())])
        schema = pa.schema([("sidecar", types), ("add", add_type)])
        log.parquet(pa.Table.from_pylist(rows, schema), "9.checkpoint.u.parquet")
    for tables in (log.tables, DeltaTables()):  # from the files, then from the local cache
        log.tables = tables
        assert values(log, "f0", "f1", "g") == [0, 1, 7]
    (folder / "s1.parquet").unlink()
    log.tables = DeltaTables()
    with pytest.raises(SnapshotUnreadable, match=r"s1\.parquet"):
        values(log, "f0", cache=tmp_path / "other")


def parsed(**kinds: Any) -> pa.Table:
    """Return a checkpoint with statistics as structs only."""
    size = len(next(iter(kinds.values())))
    structs = pa.StructArray.from_arrays(list(kinds.values()), list(kinds))
    paths = pa.array([f"f{k}" for k in range(size)])
    return pa.table({"add": pa.StructArray.from_arrays([paths, structs], ["path", "stats_parsed"])})


def one(name: str, array: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([array], [name])


@pytest.mark.parametrize(
    ("data_type", "array", "expected"),
    [
        ("long", pa.array([5]), (5, 5)),
        ("long", pa.array([5], pa.int32()), (5, 5)),  # before the column was widened
        ("long", pa.array([5.0]), (None, None)),
        ("long", pa.array(["5"]), (None, None)),
        ("double", pa.array([1.5]), (1.5, 1.5)),
        ("double", pa.array([float("nan")]), (None, None)),
        ("double", pa.array([7], pa.int32()), (7.0, 7.0)),
        ("double", pa.array([7], pa.int64()), (None, None)),
        ("decimal(10,2)", pa.array([Decimal("1.25")], pa.decimal128(8, 2)), (125, 125)),
        ("decimal(10,2)", pa.array([Decimal("1.5")], pa.decimal128(8, 1)), (150, 150)),
        ("decimal(10,2)", pa.array([Decimal("1.255")], pa.decimal128(8, 3)), (None, None)),
        ("decimal(10,2)", pa.array([3], pa.int32()), (300, 300)),
        ("date", pa.array([date(2024, 1, 1)]), (19723, 19723)),
        ("date", pa.array([date(1500, 1, 1)]), (None, -171_664 + 15)),
        ("string", pa.array(["x" * 32]), (b"x" * 32, b"x" * 31 + b"y")),
        (
            "timestamp",
            pa.array([1_000], pa.timestamp("ms", "UTC")),
            (1_000_000 - 60_000_000, 61_000_000),
        ),
        (
            "timestamp",
            pa.array([10**15], pa.timestamp("us")),  # INT96 has no zone
            (10**15, 10**15 + 999),
        ),
        (
            "timestamp",
            pa.array([datetime(1850, 1, 1, tzinfo=UTC)]),
            (None, (-3_786_825_600 + 16 * 86_400) * 1_000_000),
        ),
        ("timestamp", pa.array([date(2024, 1, 1)]), (None, None)),
        (
            "timestamp_ntz",
            pa.array([date(2024, 1, 1)]),
            (19723 * 86_400_000_000, 19723 * 86_400_000_000 + 999),
        ),
        ("timestamp_ntz", pa.array([10**15], pa.timestamp("us", "UTC")), (None, None)),
        ("boolean", pa.array([True]), (None, None)),
    ],
)
def test_statistics_as_structs(
    tmp_path: Path, data_type: str, array: pa.Array, expected: tuple[Any, Any]
) -> None:
    log = Log(tmp_path, schema_of(c=data_type))
    log.parquet(
        parsed(
            numRecords=pa.array([10]),
            minValues=one("c", array),
            maxValues=one("c", array),
            nullCount=one("c", pa.array([10 if expected == (None, None) else 3])),
        )
    )
    statistics = log.statistics("f0")
    bounds = statistics.bounds(column("c", data_type))
    assert edges(bounds) == expected
    assert flags(bounds) == (True, expected != (None, None))
    assert statistics.num_records.tolist() == [10]


def test_int96_timestamps_of_a_checkpoint(tmp_path: Path) -> None:
    log = Log(tmp_path, schema_of(c="timestamp"))
    moment = one("c", pa.array([datetime(2500, 1, 1)], pa.timestamp("us")))
    table = parsed(numRecords=pa.array([1]), minValues=moment, maxValues=moment)
    pq.write_table(table, log.path / "c.parquet", use_deprecated_int96_timestamps=True)
    log.checkpoint.append(log.uri("c.parquet"))
    expected = 16_725_225_600_000_000
    assert edges(log.statistics("f0").bounds(column("c", "timestamp"))) == (
        expected,
        expected + 999,
    )


def test_structs_are_used_where_there_is_no_text(tmp_path: Path) -> None:
    log = Log(tmp_path, LONG)
    structs = one("minValues", one("c", pa.array([1, 2, 3, None])))
    texts = pa.array([json.dumps(of(10)), None, "broken", None])
    paths = pa.array([f"f{k}" for k in range(4)])
    adds = pa.StructArray.from_arrays([paths, texts, structs], ["path", "stats", "stats_parsed"])
    log.parquet(pa.table({"add": adds}))
    assert values(log, "f0", "f1", "f2", "f3") == [10, 2, None, None]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_column_mapping_at_each_level(tmp_path: Path, mode: str) -> None:
    def mapped(name: str, data_type: Any, physical: str) -> dict[str, Any]:
        return struct_field(name, data_type, **{"delta.columnMapping.physicalName": physical})

    inner = struct(
        mapped("b", "long", "p2"), mapped("c.d", "long", "p3"), struct_field("e", "long")
    )
    schema = struct(
        mapped("a", inner, "p1"), mapped("p4", "long", "p5"), mapped("é'", "long", "p4")
    )
    log = Log(tmp_path, json.dumps(schema), mode)
    low = {"p1": {"p2": 1, "p3": 2, "e": 3, "b": 9}, "p4": 4, "p5": 5, "a": {"b": 9}}
    log.commit(add("f", stats(10, low)))
    statistics = log.statistics("f")
    expected = {
        ("a", "b"): 1,
        ("a", "c.d"): 2,
        ("a", "e"): None,
        ("p4",): 5,
        ("é'",): 4,
        ("p5",): None,
    }
    assert {
        path: edges(statistics.bounds(column(path, "long")))[0] for path in expected
    } == expected


def test_physical_names_that_are_not_unique(tmp_path: Path) -> None:
    def mapped(name: str, data_type: Any, physical: str) -> dict[str, Any]:
        return struct_field(name, data_type, **{"delta.columnMapping.physicalName": physical})

    fields = [
        mapped("a", "long", "p"),
        mapped("s", struct(mapped("x", "long", "q")), "p"),
        mapped("b", "long", "r"),
        mapped("c", "long", "r"),
        mapped("d", "long", "d"),
    ]
    log = Log(tmp_path, json.dumps(struct(*fields)), "name")
    log.commit(add("f", stats(10, {"p": 1, "r": 2, "d": 3})))
    lower = {
        name: edges(log.statistics("f").bounds(column(name, "long")))[0]
        for name in ("a", "b", "c", "d")
    }
    assert lower == {"a": None, "b": None, "c": None, "d": 3}


def test_checkpoint_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tamis.tables.delta import checkpoints

    monkeypatch.setattr(checkpoints, "_BATCH", 3)
    log = Log(tmp_path, LONG)
    adds = [add(f"f{k}", None if k < 3 else of(k)) for k in range(10)]
    log.parquet(checkpoint([*adds, add("f9", of(99))]))
    assert values(log, *(f"f{k}" for k in range(10))) == [None, None, None, *range(3, 9), 99]


def test_checkpoint_without_data_files(tmp_path: Path) -> None:
    log = Log(tmp_path, LONG)
    log.parquet(checkpoint([]))
    log.commit()
    assert values(log, "f") == [None]
    log.commit(add("f", of(1)))
    assert values(log, "f") == [1]


def test_a_log_without_files(tmp_path: Path) -> None:
    statistics = Log(tmp_path, LONG).statistics("f", "g")
    assert statistics.num_records.tolist() == [-1, -1]
    assert statistics.described == 0
    assert edges(statistics.bounds(column("c", "long"))) == (None, None)
    assert statistics.certain(column("c", "long")).nulls.tolist() == [-1]


def test_names(tmp_path: Path) -> None:
    fields = [
        struct_field(each, "long")
        for each in ('q"uote', "back\\slash", "dot.ted", "Ä", "`", "Case")
    ]
    schema = struct(*fields, struct_field("s", struct(struct_field("x.y", "long"))))
    log = Log(tmp_path, json.dumps(schema))
    low: dict[str, Any] = {each["name"]: k for k, each in enumerate(fields)}
    log.commit(add("f", stats(10, low | {"s": {"x.y": 10}, "dot": {"ted": 11}})))
    statistics = log.statistics("f")
    for name, value in low.items():
        assert edges(statistics.bounds(column(name, "long")))[0] == value
    assert edges(statistics.bounds(column("cAsE", "long")))[0] == low["Case"]
    assert edges(statistics.bounds(column(("s", "x.y"), "long")))[0] == 10
    assert edges(statistics.bounds(column("s.x.y", "long")))[0] is None


def test_escaped_keys_of_the_statistics(tmp_path: Path) -> None:
    log = Log(tmp_path, schema_of(é="long"))
    log.commit(add("f", '{"minValues":{"\\u00e9":3}}'))
    assert edges(log.statistics("f").bounds(column("é", "long")))[0] == 3


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("{", "delta.log_unreadable"),
        ('{"add":{}}', "delta.log_unreadable"),
        ('{"add":{"path":3}}', "delta.log_unreadable"),
        ("\x00\x01", "delta.log_unreadable"),
        (None, "delta.log_unreadable"),
        (
            '{"protocol":{"minReaderVersion":3,"readerFeatures":["adaptiveMetadata"]}}',
            "delta.unsupported_layout",
        ),
        ('{"adaptiveMetadata":{"path":"x"}}', "delta.unsupported_layout"),
    ],
)
def test_damaged_and_unknown_commits_are_refused(
    tmp_path: Path, content: str | None, code: str
) -> None:
    log = Log(tmp_path, LONG)
    log.commit(content or "")
    if content is None:
        (log.path / f"{0:020}.json").unlink()
    with pytest.raises(SnapshotUnreadable) as raised:
        values(log, "f")
    assert raised.value.code == code
    assert log.commits[0] in raised.value.text
    assert ("adaptiveMetadata" in raised.value.text) == (code == "delta.unsupported_layout")


def test_unknown_features_and_actions_do_not_matter(tmp_path: Path) -> None:
    log = Log(tmp_path, LONG)
    protocol = {"minReaderVersion": 9, "readerFeatures": ["somethingNew"]}
    log.commit(json.dumps({"protocol": protocol}), json.dumps({"new": 1}), "", add("f", of(1)))
    log.commit(add("adaptiveMetadata", stats(1, {"c": 2, "adaptiveMetadata": 3})))
    assert values(log, "f", "adaptiveMetadata") == [1, 2]


def test_damaged_and_unknown_checkpoints_are_refused(tmp_path: Path) -> None:
    log = Log(tmp_path, LONG)
    (log.path / "c.parquet").write_bytes(b"PAR1" + b"x" * 100)
    log.checkpoint = [log.uri("c.parquet")]
    with pytest.raises(SnapshotUnreadable, match=r"c\.parquet"):
        values(log, "f")
    features = pa.array([{"readerFeatures": ["adaptiveMetadata"]}, None])
    adds = pa.array([None, {"path": "f", "stats": json.dumps(of(1))}])
    pq.write_table(pa.table({"protocol": features, "add": adds}), log.path / "c.parquet")
    with pytest.raises(SnapshotUnreadable, match="adaptiveMetadata"):
        values(log, "f")
    pq.write_table(pa.table({"content": [1]}), log.path / "c.parquet")
    with pytest.raises(SnapshotUnreadable, match="neither"):
        values(log, "f")


@pytest.mark.parametrize("schema", ["", "{}", "[]", '{"fields":[{}]}', '{"fields":3}'])
def test_unreadable_schemas_are_refused(tmp_path: Path, schema: str) -> None:
    log = Log(tmp_path, schema)
    log.commit(add("f", of(1)))
    with pytest.raises(SnapshotUnreadable) as raised:
        values(log, "f")
    assert raised.value.code == "delta.schema_unreadable"


def test_a_table_that_is_created_again_at_the_same_place(tmp_path: Path) -> None:
    log = Log(tmp_path, LONG)
    log.parquet(checkpoint([add("a", of(1))]), "c.parquet")
    log.commit(add("b", of(1)))
    assert values(log, "a", "b") == [1, 1]
    pq.write_table(checkpoint([add("a", of(2)), add("x", of(2))]), log.path / "c.parquet")
    (log.path / f"{0:020}.json").write_text(json.dumps(add("b", of(22))))
    assert values(log, "a", "b") == [2, 22]


def test_only_new_commits_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    from tamis.tables.delta import log_files

    original = log_files.read_actions

    def counted(content: bytes, uri: str, root: str) -> Any:
        read.append(uri)
        return original(content, uri, root)

    monkeypatch.setattr(log_files, "read_actions", counted)
    log = Log(tmp_path, LONG)
    log.parquet(checkpoint([add("a", of(1))]))
    log.commit(add("b", of(2)))
    assert values(log, "a", "b", "c") == [1, 2, None]
    log.commit(add("c", of(3)))
    assert values(log, "a", "b", "c") == [1, 2, 3]
    assert read == log.commits


def test_local_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tamis.tables.delta import log_files

    log = Log(tmp_path / "t", schema_of(c="long", d="string"))
    both = stats(5, {"c": 1, "d": "x"}, {"c": 2, "d": "y"}, {"c": 0})
    log.parquet(checkpoint([add("a", both), add("b", of(2))]))
    cache = tmp_path / "cache"
    assert values(log, "a", "b", cache=cache) == [1, 2]
    (kept,) = cache.rglob("table.arrow")
    reads = []
    original = log_files.CheckpointFile
    monkeypatch.setattr(
        log_files, "CheckpointFile", lambda *given: reads.append(1) or original(*given)
    )
    log.tables = DeltaTables()
    assert values(log, "a", "b", cache=cache) == [1, 2]
    assert not reads
    for damage in (b"", b"ARROW1\0\0", kept.read_bytes()[:-200], kept.read_bytes()[200:]):
        kept.write_bytes(damage)
        reads.clear()
        log.tables = DeltaTables()
        assert values(log, "a", "b", cache=cache) == [1, 2]
        assert reads
    for other in (pa.table({"key": [b"a"]}), pa.table({"key": [1], "records": ["x"]})):
        with pa.OSFile(str(kept), "wb") as sink, pa.ipc.new_file(sink, other.schema) as writer:
            writer.write_table(other)
        log.tables = DeltaTables()
        assert values(log, "a", "b", cache=cache) == [1, 2]
    # another type of a column: its statistics are read differently
    log.schema = schema_of(c="long", d="date")
    log.tables = DeltaTables()
    bounds = log.statistics("a", cache=cache).bounds(column("d", "date"))
    assert edges(bounds) == (None, None)


def test_a_cache_directory_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = Log(tmp_path / "t", LONG)
    log.parquet(checkpoint([add("a", of(1))]))
    assert values(log, "a", cache=tmp_path / "file") == [1]


def test_listing_of_many_directories(tmp_path: Path) -> None:
    log = Log(tmp_path, LONG)
    log.commit(*(add(f"p={k % 3}/f{k}", of(k)) for k in range(30)))
    listing = files(log.root, [])
    many = type(listing)(
        tuple(f"{log.root}/p={k}" for k in range(3)),
        pa.chunked_array([np.arange(30, dtype=np.int32) % 3]),
        pa.chunked_array([[f"f{k}" for k in range(30)]]),
        listing.size,
        listing.mtime,
    )
    statistics = log.tables.statistics_of(log.snapshot(), many, {}, str(tmp_path / "cache"))
    assert statistics.bounds(column("c", "long")).lower.tolist() == [*range(30)]
