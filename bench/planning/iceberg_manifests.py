"""Opening the snapshot of an Iceberg table, from its manifests and from the local cache.

CPU time of all threads, in milliseconds. Every file has 16 columns with all metrics, and a manifest
has 7,000 files.

- `cold`: manifests are read and kept in the cache.
- `cold, 1 manifest`: the same for a query of one partition. Each partition has its own manifest.
  The others are not opened.
- `no cache`: manifests are read.
- `warm`: cached manifests are mapped, and a range over one column is evaluated.
- `range`: the range again.
"""

from __future__ import annotations

import shutil
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

from tamis.evaluation import NONE, verdicts
from tamis.expr.nodes import And, Column, Compare, Comparison, Expr, Literal
from tamis.expr.types import LONG
from tamis.tables.iceberg import IcebergSnapshots
from tamis.tables.iceberg.avro_container import parse_container
from tamis.wire.iceberg import IcebergSnapshot

T = TypeVar("T")

SIZES = (10_000, 100_000)
_COLUMNS = 16
_PER_MANIFEST = 7_000
_ROUNDS = 3
#: Records per block: Iceberg's writers fill 64 KB.
_PER_BLOCK = 50
_SYNC = 16
#: The field id of the column `c7`, by which tables are partitioned.
_SOURCE = 8
_SPEC = PartitionSpec(PartitionField(_SOURCE, 1000, IdentityTransform(), "p"), spec_id=0)
#: A query of one partition.
_PARTITION = Compare(Comparison.EQUAL, Column(("c7",), LONG), Literal(1, LONG))


def table(folder: Path) -> list[str]:
    """Return the lines of a table in Markdown."""
    lines = [
        "| files | manifests | cold | cold, 1 manifest | no cache | warm | range |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for size in SIZES:
        home = folder / f"iceberg-{size}"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        snapshot = _write(home, size)
        figures = [f"{each:,.0f}" for each in _measured(snapshot, home / "cache", size)]
        manifests = -(-size // _PER_MANIFEST)
        lines.append(f"| {size:,} | {manifests} | {' | '.join(figures)} |")
    return lines


def _measured(snapshot: IcebergSnapshot, cache: Path, size: int) -> Iterator[float]:
    predicate = _range(size)
    IcebergSnapshots().open(snapshot, {}, None)  # imports polars

    def cold() -> None:
        IcebergSnapshots().open(snapshot, {}, str(cache))

    def cold_partition() -> None:
        snapshots = IcebergSnapshots()
        chosen = snapshots.choose(snapshot, {}, [_PARTITION])
        files = snapshots.open(chosen.snapshot, {}, str(cache))
        assert len(files.manifests) == 1, files.manifests

    def warm() -> Any:
        files = IcebergSnapshots().open(snapshot, {}, str(cache))
        assert (verdicts(predicate, files.statistics) != NONE).sum() == size // 100
        return files

    def forget() -> None:
        shutil.rmtree(cache, ignore_errors=True)

    yield _milliseconds(cold, forget)
    yield _milliseconds(cold_partition, forget)
    yield _milliseconds(lambda: IcebergSnapshots().open(snapshot, {}, None))
    yield _milliseconds(warm)
    statistics = warm().statistics
    yield _milliseconds(lambda: verdicts(predicate, statistics))


def _milliseconds(call: Callable[[], object], before: Callable[[], None] = lambda: None) -> float:
    """Return the least CPU time of several calls."""
    times = []
    for _ in range(_ROUNDS):
        before()
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times) * 1000


def _range(size: int) -> Expr:
    """Return a range that matches one in a hundred files."""
    column, start = Column(("c0",), LONG), 50 * size
    least = Compare(Comparison.GREATER_EQUAL, column, Literal(start, LONG))
    greatest = Compare(Comparison.LESS, column, Literal(start + size, LONG))
    return And((least, greatest))


def _write(home: Path, size: int) -> IcebergSnapshot:
    manifests, schema = write_manifests(home, size, _SPEC)
    output = PyArrowFileIO({}).new_output((home / "list.avro").as_uri())
    with write_manifest_list(2, output, 1, None, 1, "deflate") as listed:
        listed.add_manifests(manifests)
    specs = [_SPEC.model_dump_json()]
    location = (home / "list.avro").as_uri()
    return IcebergSnapshot(2, 1, location, schema, specs)


def write_manifests(
    home: Path, size: int, spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC
) -> tuple[list[ManifestFile], str]:
    """Write the manifests of a table of this many files that do not exist.

    Args:
        home: The folder.
        size: The number of files.
        spec: Without fields, or `_SPEC`: then each manifest has a partition of its own.

    Returns:
        The entries of the manifests for a manifest list, and the schema of the table in JSON.
    """
    types = [LongType()] * 8 + [StringType()] * 4 + [DoubleType()] * 4
    schema = Schema(*(NestedField(n + 1, f"c{n}", each) for n, each in enumerate(types)))
    storage = PyArrowFileIO({})
    manifests = []
    for start in range(0, size, _PER_MANIFEST):
        path = home / f"{start}.avro"
        output = storage.new_output(path.as_uri())
        with write_manifest(2, spec, schema, output, 1, "deflate") as writer:
            for number in range(start, min(size, start + _PER_MANIFEST)):
                partition = Record(start // _PER_MANIFEST) if spec.fields else Record()
                writer.add_entry(_entry(number, partition))
        manifests.append(writer.to_manifest_file())
        path.write_bytes(_with_blocks(path.read_bytes()))
    return manifests, schema.model_dump_json()


def _entry(number: int, partition: Record) -> ManifestEntry:
    lower, upper = {}, {}
    for n in range(1, _COLUMNS + 1):
        if n <= 8:
            lower[n] = struct.pack("<q", number * 100 + n - 1)
            upper[n] = struct.pack("<q", number * 100 + 99)
        elif n <= 12:
            lower[n] = b"name%012d" % number
            upper[n] = b"namf%012d" % number
        else:
            lower[n] = struct.pack("<d", number / 2)
            upper[n] = struct.pack("<d", number)
    if len(partition):
        lower[_SOURCE] = upper[_SOURCE] = struct.pack("<q", partition[0])
    ids = range(1, _COLUMNS + 1)
    file = DataFile.from_args(
        _table_format_version=2,
        content=DataFileContent.DATA,
        file_path=f"s3://warehouse/db/table/data/00000-{number}-{number * 7919:032x}.parquet",
        file_format=FileFormat.PARQUET,
        partition=partition,
        record_count=1000,
        file_size_in_bytes=123_456,
        column_sizes=dict.fromkeys(ids, 5000),
        value_counts=dict.fromkeys(ids, 1000),
        null_value_counts=dict.fromkeys(ids, 0),
        nan_value_counts=dict.fromkeys(range(13, 17), 0),
        lower_bounds=lower,
        upper_bounds=upper,
        split_offsets=[4],
        sort_order_id=0,
    )
    file.spec_id = 0
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED,
        snapshot_id=1,
        sequence_number=None,
        file_sequence_number=None,
        data_file=file,
    )


def _with_blocks(data: bytes) -> bytes:
    """Return a file with blocks as Iceberg writes them. pyiceberg writes one per record."""
    container = parse_container(data)
    first = container.blocks[0][1]
    sync = data[-_SYNC:]
    parts = [data[: data.index(sync, 0, first) + _SYNC]]
    for start in range(0, len(container.blocks), _PER_BLOCK):
        of_block = container.blocks[start : start + _PER_BLOCK]
        records = b"".join(zlib.decompress(data[a:b], -zlib.MAX_WBITS) for _, a, b in of_block)
        compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
        compressed = compressor.compress(records) + compressor.flush()
        parts += [_long(sum(count for count, _, _ in of_block)), _long(len(compressed))]
        parts += [compressed, sync]
    return b"".join(parts)


def _long(number: int) -> bytes:
    number <<= 1
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])
