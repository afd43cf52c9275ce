"""The first query on a column: its statistics are read and prepared.

*cold*: the local cache is empty, so the stored form is read, checked and converted to arrays.
*warm*: another process left the arrays in the local cache, and they are mapped. CPU milliseconds of
one thread, the minimum of several new openings. Memory is anonymous memory of a process that opened
the index cold and touched every column once.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.expr.nodes import Column
from tamis.expr.types import DataType
from tamis.indexing.build.generation import Generation, assemble, pointer_to
from tamis.indexing.build.segments import joined
from tamis.indexing.executor.columns_schema import leaves_of
from tamis.indexing.executor.executor_job import row_groups_table
from tamis.indexing.format.recording_spec import RecordingSpec
from tamis.indexing.format.row_statistics import Parts
from tamis.indexing.format.store import Store
from tamis.indexing.read.open_indexes import open_index
from tamis.indexing.read.snapshot import FileKeys

SIZES = (10_000, 100_000, 1_000_000)
COLUMNS = {"id": "long", "v": "double", "d": "date", "name": "string"}
_ROUNDS = 5


def write_index(
    folder: Path,
    size: int,
    row_groups: int = 1,
    recording: Parts | None = None,
    segments: int = 1,
) -> Store:
    """Return an index of this many files that do not exist, ten rows each, clustered by id.

    Args:
        folder: The directory of the files.
        size: The number of files.
        row_groups: The number of row groups of each file.
        recording: Statistics from rows; only with one segment.
        segments: The number of segments, which are not merged.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    root = folder.resolve().as_uri().replace("file://", "file:")
    schema = schema_of_files()
    store = Store.at(root, None, {})
    tables, raw = ({}, {}) if recording is None else recording.data(RecordingSpec())
    empty = json.dumps({"type": "struct", "fields": []})
    pointer = None
    for ordinal in np.array_split(np.arange(size), segments):
        made = _content(root, schema, ordinal, row_groups)
        segment = store.write_segment(made.files, made.row_groups, tables, raw)
        if pointer is None:
            pointer = pointer_to(segment, made, root, schema, empty, False)
        else:
            pointer = joined(pointer, segment, made)
    assert pointer is not None
    store.commit(pointer)
    return store


def schema_of_files() -> str:
    """Return Spark's JSON of the columns."""
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in COLUMNS.items()
    ]
    return json.dumps({"type": "struct", "fields": fields})


def keys_of(root: str, ordinal: npt.NDArray[np.int64]) -> FileKeys:
    """Return the keys of the files with these ordinals."""
    return FileKeys(
        (root,),
        _column(np.zeros(len(ordinal), np.int32)),
        _column([f"part-{i:07d}-c000.snappy.parquet" for i in ordinal]),
        _column(ordinal % 977 + 1_000_000),
        _column(ordinal + 10**12),
    )


def footers_of(ordinal: npt.NDArray[np.int64], row_groups: int) -> pa.Table:
    """Return the footer statistics of the files with these ordinals."""
    size = len(ordinal)
    bounds = {
        "id": (ordinal * 10, ordinal * 10 + 9),
        "v": (ordinal * 1.5, ordinal * 1.5 + 100),
        "d": ((ordinal // 100).astype(np.int32), (ordinal // 100 + 1).astype(np.int32)),
        "name": tuple([f"n{i * 10 + k:09d}".encode() for i in ordinal] for k in (0, 9)),
    }
    statistics = {
        "ordinal": np.arange(size),
        "problem": pa.nulls(size, pa.string()),
        "num_records": np.full(size, 10),
        "row_groups": np.full(size, row_groups, np.int32),
    }
    for name, (lower, upper) in bounds.items():
        statistics |= {f"min.{name}": lower, f"max.{name}": upper}
        statistics[f"null_count.{name}"] = np.zeros(size, np.int64)
    return pa.table(statistics)


def _content(root: str, schema: str, ordinal: npt.NDArray[np.int64], row_groups: int) -> Generation:
    """Return the statistics of the files with these ordinals."""
    size = len(ordinal)
    leaves = leaves_of(schema)
    groups = row_groups_table([], [], leaves)
    if row_groups > 1:
        groups = pa.table(_row_groups(size, row_groups)).select(
            [name for name in groups.column_names if not name.endswith((".v", ".d"))]
        )
    return assemble(keys_of(root, ordinal), leaves, footers_of(ordinal, row_groups), groups)


def _row_groups(size: int, count: int) -> dict[str, object]:
    """Return row groups that split the ids of each file into consecutive parts."""
    number = np.arange(size * count)
    part = number % count
    low, high = number // count * 10 + part * 10 // count, number // count * 10 + 9
    length = 900_000 // count
    groups: dict[str, object] = {
        "file": number // count,
        "start": part * length + 4,
        "length": np.full(size * count, length),
        "midpoint": part * length + 4 + length // 2,
        "num_records": (part + 1) * 10 // count - part * 10 // count,
        "min.id": low,
        "max.id": np.minimum(high, low + 10 // count),
    }
    for name, edge in (("min.name", low), ("max.name", high)):
        groups[name] = [f"n{i:09d}".encode() for i in edge.tolist()]
    for name in ("id", "name"):
        groups[f"null_count.{name}"] = np.zeros(size * count, np.int64)
    return groups


def _column(values: object) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values)])


def touch(store: Store, cache: Path) -> Iterator[tuple[str, float]]:
    """Yield CPU milliseconds of opening, and of the first touch of every column."""
    started = time.process_time()
    index = open_index(store, str(cache))
    yield "open", 1000 * (time.process_time() - started)
    for name, kind in COLUMNS.items():
        data_type = DataType.parse(kind)
        assert data_type is not None
        started = time.process_time()
        index.statistics.bounds(Column((name,), data_type))
        yield name, 1000 * (time.process_time() - started)
    assert index.statistics.problem is None, index.statistics.problem


def anonymous_mb() -> float:
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def measure(folder: Path, size: int) -> dict[str, dict[str, float]]:
    """Return milliseconds by column, cold and warm; memory under `memory`."""
    store, cache = write_index(folder / f"touch-{size}", size), folder / f"touch-{size}-cache"
    best: dict[str, dict[str, float]] = {"cold": {}, "warm": {}}
    for _ in range(_ROUNDS):
        shutil.rmtree(cache, ignore_errors=True)
        for state in ("cold", "warm"):
            for name, milliseconds in touch(store, cache):
                best[state][name] = min(best[state].get(name, np.inf), milliseconds)
    command = [sys.executable, "-m", "bench.planning.first_touch", str(folder), str(size)]
    figures = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    best["cold"]["memory"] = float(figures.stdout)
    shutil.rmtree(cache, ignore_errors=True)
    return best


def table(folder: Path) -> list[str]:
    """Return the figures as a Markdown table."""
    names = ["open", *COLUMNS]
    lines = [
        "| files | " + " | ".join(names) + " | memory |",
        "|" + "---:|" * (len(names) + 2),
    ]
    for size in SIZES:
        figures = measure(folder, size)
        for state in ("cold", "warm"):
            cells = [f"{figures[state][name]:.1f}" for name in names]
            memory = f"{figures[state]['memory']:.0f} MB" if "memory" in figures[state] else ""
            lines.append(f"| {size:,} {state} | " + " | ".join(cells) + f" | {memory} |")
    return lines


def _main(folder: Path, size: int) -> None:
    """Print the memory in megabytes of a process that touches every column, cold."""
    cache = folder / f"touch-{size}-cache"
    shutil.rmtree(cache, ignore_errors=True)
    root = (folder / f"touch-{size}").resolve().as_uri().replace("file://", "file:")
    list(touch(Store.at(root, None, {}), cache))
    print(anonymous_mb())


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]))
