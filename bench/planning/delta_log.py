"""Statistics from the log of a Delta table: first, from memory, and after one more commit.

The table has 100,000 files and statistics of 16 columns. Its checkpoint has them as JSON or as
structs. *cold* reads it without a local cache, *cached* finds it in the cache but not in memory,
*warm* asks again about the same listing, and *next* reads one more commit. Each asks about a range
of one column. Milliseconds: CPU of all threads, and wall clock; *warm* is wall clock.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.evaluation import verdicts
from tamis.expr.nodes import Column, Compare, Comparison, Literal
from tamis.expr.types import LONG
from tamis.indexing.read.snapshot import FileKeys
from tamis.tables.delta import DeltaTables
from tamis.wire.delta import DeltaSnapshot

FILES = 100_000
_TYPES = ("long", "double", "string", "timestamp", "date", "decimal(12,2)", "integer", "string")
_COLUMNS = {f"column_{k}": _TYPES[k % len(_TYPES)] for k in range(16)}
_EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


def table(folder: Path) -> list[str]:
    """Return the figures as a Markdown table."""
    lines = [
        "| checkpoint | cold, CPU | cold | cached, CPU | cached | warm | next, CPU | next |",
        "|" + "---|" + "---:|" * 7,
    ]
    for form in ("JSON", "structs"):
        directory = folder / f"delta-{form}"
        shutil.rmtree(directory, ignore_errors=True)
        snapshot, listing = _write(directory, form)
        cache = directory / "cache"
        taken: list[float] = []
        tables = DeltaTables()
        taken += _ask(tables, snapshot, listing, cache)
        tables = DeltaTables()
        taken += _ask(tables, snapshot, listing, cache)
        taken += min(_ask(tables, snapshot, listing, cache) for _ in range(5))[1:]
        later = DeltaSnapshot(
            2,
            snapshot.root,
            snapshot.checkpoint,
            [_commit(directory, 1)],
            snapshot.schema,
        )
        taken += _ask(tables, later, listing, cache)
        lines.append(f"| {form} | " + " | ".join(f"{each:.0f}" for each in taken) + " |")
    return lines


def _ask(
    tables: DeltaTables, snapshot: DeltaSnapshot, listing: FileKeys, cache: Path
) -> list[float]:
    """Return CPU and wall-clock milliseconds of a question about a range."""
    cpu, wall = time.process_time(), time.perf_counter()
    statistics = tables.statistics_of(snapshot, listing, {}, str(cache))
    column = Column(("column_0",), LONG)
    after = Compare(Comparison.GREATER, column, Literal(10 * FILES - 55, LONG))
    kept = np.count_nonzero(verdicts(after, statistics) != 0)
    assert 0 < kept < 20, kept
    return [1000 * (time.process_time() - cpu), 1000 * (time.perf_counter() - wall)]


def _write(directory: Path, form: str) -> tuple[DeltaSnapshot, FileKeys]:
    (directory / "_delta_log").mkdir(parents=True)
    names = [*map(_name, range(FILES))]
    texts = [_statistics(k) for k in range(FILES)]
    add: dict[str, Any] = {"path": names}
    if form == "JSON":
        add["stats"] = texts
    else:
        add["stats_parsed"] = _structs(texts)
    adds = pa.StructArray.from_arrays([pa.array(each) for each in add.values()], list(add))
    path = directory / "_delta_log" / "1.checkpoint.parquet"
    pq.write_table(pa.table({"add": adds}), path)
    root = f"file:{directory}"
    snapshot = DeltaSnapshot(1, root, [f"{root}/_delta_log/{path.name}"], [], _schema())
    ones = pa.chunked_array([np.ones(FILES, np.int64)])
    group = pa.chunked_array([np.zeros(FILES, np.int32)])
    return snapshot, FileKeys((root,), group, pa.chunked_array([names]), ones, ones)


def write_commit(directory: Path) -> None:
    """Write the first commit of a table of as many files, which do not exist."""
    metadata = {
        "id": "0f5e9d0a-37c1-4f43-8c56-5e2a7ad7a1b2",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": _schema(),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 1_700_000_000_000,
    }
    actions: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": metadata},
    ]
    for number in range(FILES):
        add = {
            "path": _name(number),
            "partitionValues": {},
            "size": 123_456,
            "modificationTime": 1_700_000_000_000,
            "dataChange": True,
            "stats": _statistics(number),
        }
        actions.append({"add": add})
    (directory / "_delta_log").mkdir(parents=True)
    lines = (json.dumps(action) + "\n" for action in actions)
    (directory / "_delta_log" / f"{0:020}.json").write_text("".join(lines))


def _name(number: int) -> str:
    return f"part-{number:05d}-5f0cb1a5-8d0e-4a37-9c55-{number:012d}-c000.snappy.parquet"


def _schema() -> str:
    fields = [
        {"name": name, "type": each, "nullable": True, "metadata": {}}
        for name, each in _COLUMNS.items()
    ]
    return json.dumps({"type": "struct", "fields": fields})


def _commit(directory: Path, number: int) -> str:
    path = directory / "_delta_log" / f"{number:020}.json"
    add = {"path": "part-new.parquet", "stats": _statistics(number)}
    path.write_text(json.dumps({"add": add}) + "\n")
    return f"file:{path}"


def _statistics(number: int) -> str:
    low = dict(_values(10 * number))
    high = dict(_values(10 * number + 9))
    nulls = dict.fromkeys(_COLUMNS, 0)
    return json.dumps({"numRecords": 10, "minValues": low, "maxValues": high, "nullCount": nulls})


def _values(number: int) -> Iterator[tuple[str, Any]]:
    moment = _EPOCH + timedelta(seconds=number)
    for name, data_type in _COLUMNS.items():
        if data_type == "string":
            yield name, f"customer number {number:09d} "
        elif data_type == "timestamp":
            yield name, f"{moment:%Y-%m-%dT%H:%M:%S}.{number % 1000:03d}Z"
        elif data_type == "date":
            yield name, f"{moment:%Y-%m-%d}"
        elif data_type in ("long", "integer"):
            yield name, number
        else:
            yield name, number / 4


def _structs(texts: list[str]) -> pa.Array:
    arrow = {
        "long": pa.int64(),
        "double": pa.float64(),
        "string": pa.string(),
        "timestamp": pa.timestamp("us", "UTC"),
        "date": pa.date32(),
        "decimal(12,2)": pa.decimal128(12, 2),
        "integer": pa.int32(),
    }
    rows = [json.loads(each) for each in texts]
    parts: dict[str, pa.Array] = {"numRecords": pa.array([each["numRecords"] for each in rows])}
    for kind in ("minValues", "maxValues", "nullCount"):
        fields = []
        for name, data_type in _COLUMNS.items():
            values = pa.array([each[kind][name] for each in rows])
            fields.append(values if kind == "nullCount" else values.cast(arrow[data_type]))
        parts[kind] = pa.StructArray.from_arrays(fields, list(_COLUMNS))
    return pa.StructArray.from_arrays(list(parts.values()), list(parts))
