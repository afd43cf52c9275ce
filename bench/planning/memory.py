"""The memory that an index with row statistics costs in a process that uses all of it.

Footer bounds of four columns; for two of these also bounds, Bloom filters and value lists from the
rows; bounds and value lists of one expression. Every value occurs in one file only, the worst case
for lists. A process uses each part once: *cold*, with an empty local cache, and *warm*, with the
cache that the first process left. Memory is anonymous: *busy*, directly after the last question,
and *idle*, a second later, when the sidecar releases what it does not need.

A second table compares indexes with footer bounds only: *built*, in one segment, and *automatic*,
in the segments that remain if the footers of all files are added in the order of their names.
*most* is the most memory of the process that adds them, without reading files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.planning.first_touch import (
    COLUMNS,
    anonymous_mb,
    footers_of,
    keys_of,
    schema_of_files,
    write_index,
)
from tamis.evaluation import verdicts
from tamis.expr.nodes import Call, Column, Compare, Comparison, In, Literal
from tamis.expr.types import LONG, STRING, DataType
from tamis.indexing.automatic import file_adder
from tamis.indexing.automatic.file_adder import Unindexed
from tamis.indexing.executor.columns_schema import Leaf
from tamis.indexing.executor.executor_job import row_groups_table
from tamis.indexing.format.blooms import Blooms
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.entry_statistics import Columns
from tamis.indexing.format.row_statistics import Parts, encode
from tamis.indexing.format.store import Store
from tamis.indexing.format.value_lists import ValueLists
from tamis.indexing.read.memory import release_unused_memory
from tamis.indexing.read.open_indexes import open_index
from tamis.indexing.read.snapshot import FileKeys

SIZES = (100_000, 1_000_000)
_VALUES = 10  # per file
_KEY = "key of upper(name)"


def recording(size: int) -> Parts:
    """Return row statistics of these files, in the form that Spark aggregates."""
    numbers = np.arange(size * _VALUES)
    texts = pa.array([f"n{i:09d}".encode() for i in numbers.tolist()], pa.large_binary())
    first, last = pa.array(numbers[::_VALUES]), pa.array(numbers[_VALUES - 1 :: _VALUES])
    lows, highs = (texts.take(each).cast(pa.binary()) for each in (first, last))
    zeros = pa.array(np.zeros(size, np.int64))
    blocks = np.ones(size, np.int64)
    rng = np.random.default_rng(1)
    counts = np.full(size, _VALUES)
    columns = {
        "id": ("long", Columns({"min": first, "max": last, "null_count": zeros}), numbers),
        "name": ("string", Columns({"min": lows, "max": highs, "null_count": zeros}), texts),
    }
    entries, parts = [], []
    for name, (kind, bounds, values) in columns.items():
        bits = rng.integers(0, 1 << 62, (size, 4)).astype(np.uint64)
        for each, part in (
            ("bounds", bounds),
            ("bloom", Columns(filters=Blooms(blocks, bits))),
            ("values", Columns(lists=ValueLists(counts, values))),
        ):
            entries.append(Entry(each, name, f"`{name}`", kind, path=(name,)))
            parts.append(part)
    _, bounds, values = columns["name"]
    for each, part in (("bounds", bounds), ("values", Columns(lists=ValueLists(counts, values)))):
        entries.append(Entry(each, "upper(name)", "upper(`name`)", "string", key=_KEY))
        parts.append(part)
    return encode(entries, parts, size)


def use(root: str, cache: Path, location: str | None = None) -> tuple[float, float, float]:
    """Use every part of the index once. Return CPU seconds, and megabytes busy and idle."""
    started = time.process_time()
    index = open_index(Store.at(root, location, {}), str(cache))
    for name, kind in COLUMNS.items():
        data_type = DataType.parse(kind)
        assert data_type is not None
        index.statistics.bounds(Column((name,), data_type))
    number, text = Column(("id",), LONG), Column(("name",), STRING)
    upper = Call("Upper", (text,), (), STRING, _KEY)
    for predicate in (
        Compare(Comparison.EQUAL, number, Literal(77, LONG)),
        In(number, (5, 500, 5_000)),
        Compare(Comparison.EQUAL, text, Literal("n000000077", STRING)),
        Compare(Comparison.EQUAL, upper, Literal("n000000077", STRING)),
    ):
        verdicts(predicate, index.statistics)
    assert index.statistics.problem is None, index.statistics.problem
    seconds, busy = time.process_time() - started, anonymous_mb()
    release_unused_memory()
    return seconds, busy, anonymous_mb()


def table(folder: Path) -> list[str]:
    """Return the figures as a Markdown table."""
    lines = ["| files | state | CPU, s | busy | idle |", "|---:|---|---:|---:|---:|"]
    for size in SIZES:
        place, cache = folder / f"memory-{size}", folder / f"memory-{size}-cache"
        shutil.rmtree(cache, ignore_errors=True)
        write_index(place, size, recording=recording(size))
        for state in ("cold", "warm"):
            command = [sys.executable, "-m", "bench.planning.memory", str(place), str(cache)]
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, env=os.environ
            )
            seconds, busy, idle = map(float, done.stdout.split())
            cells = f"{seconds:.1f} | {busy:.0f} MB | {idle:.0f} MB"
            lines.append(f"| {size:,} | {state} | {cells} |")
        shutil.rmtree(cache, ignore_errors=True)
    return lines


def footers_table(folder: Path, sizes: Sequence[int] = SIZES) -> list[str]:
    """Return the figures of indexes of footers as a Markdown table."""
    heads = ["files", "index", "most", "cold, CPU s", "busy", "idle", "warm, CPU s", "busy", "idle"]
    lines = [f"| {' | '.join(heads)} |", "|---:|---|" + "---:|" * 7]
    for size in sizes:
        place, cache = folder / f"footers-{size}", folder / f"footers-{size}-cache"
        write_index(place, size)
        shutil.rmtree(location := folder / f"footers-{size}-automatic", ignore_errors=True)
        most = _run(str(place), str(cache), _uri(location), str(size))[0]
        for name, where, first in (
            ("built", (), ""),
            ("automatic", (_uri(location),), f"{most:.0f} MB"),
        ):
            shutil.rmtree(cache, ignore_errors=True)
            cells = []
            for _ in range(2):
                seconds, busy, idle = _run(str(place), str(cache), *where)
                cells += [f"{seconds:.1f}", f"{busy:.0f} MB", f"{idle:.0f} MB"]
            lines.append(f"| {size:,} | {name} | {first} | {' | '.join(cells)} |")
        for each in (place, cache, location):
            shutil.rmtree(each, ignore_errors=True)
    return lines


def _run(*arguments: str) -> list[float]:
    command = [sys.executable, "-m", "bench.planning.memory", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    return [float(text) for text in done.stdout.split()]


def add_all(root: str, location: str, size: int) -> float:
    """Let an automatic index describe files with invented footers; return the most megabytes."""
    added = 0
    most = 0.0

    def read_footers(keys: FileKeys, leaves: Sequence[Leaf], *_: object) -> tuple[pa.Table, ...]:
        nonlocal added
        added += len(keys)
        ordinal = np.arange(added - len(keys), added)
        return footers_of(ordinal, 1), row_groups_table([], [], leaves)

    def note_progress() -> None:
        nonlocal most
        most = max(most, anonymous_mb())

    setattr(file_adder, "read_footers", read_footers)  # noqa: B010 - no public name
    files = keys_of(root, np.arange(size))
    release_unused_memory()
    wanted = Unindexed(root, location, schema_of_files(), False, files, {})
    described, _ = file_adder.add_files(wanted, note_progress)
    assert described == size
    return most


def _uri(place: Path | str) -> str:
    return Path(place).resolve().as_uri().replace("file://", "file:")


def _main(place: str, cache: str, location: str | None = None, size: str | None = None) -> None:
    if size is not None and location is not None:
        print(add_all(_uri(place), location, int(size)))
    else:
        print(*use(_uri(place), Path(cache), location))


if __name__ == "__main__":
    _main(*sys.argv[1:])
