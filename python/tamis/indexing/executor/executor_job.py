"""The part of a build that runs on executors: reads footers and returns statistics as Arrow.

Executors need only pyarrow: `build.jobs` pickles this module and those that it imports by value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.indexing.executor.columns_schema import Leaf, arrow_type
from tamis.indexing.executor.field_paths import Stored
from tamis.indexing.executor.footers import Footer, FooterReader, unreadable
from tamis.indexing.storage import FileSystems

OLDEST_PYARROW = 19
# Footers that a task reads concurrently: the threads wait for storage rather than compute.
_CONCURRENT = 8
# The bytes of the shortest Parquet file: two marks, and the length of a footer.
SMALLEST = 12
# The widest decimal has 38 digits; the default context would round at 28.
_EXACT = Context(prec=40)


def harvest_stream(
    stream: bytes,
    leaves: Sequence[Leaf],
    case_sensitive: bool,
    settings: Mapping[str, str],
    stored: Stored | None = None,
) -> list[tuple[bytes, bytes]]:
    """Run one task: `harvest` over an Arrow IPC stream. Returns pairs (files, row_groups).

    Raises:
        ImportError: pyarrow is too old. Up to version 16 it returns whatever is in memory for a
            bound that the footer does not have.
    """
    if int(pa.__version__.partition(".")[0]) < OLDEST_PYARROW:
        raise ImportError(
            f"the executors have pyarrow {pa.__version__}, but tamis needs pyarrow "
            f"{OLDEST_PYARROW} or newer to read footers: install it there"
        )
    rows = harvest(pa.ipc.open_stream(stream), leaves, case_sensitive, settings, stored)
    return [(row["files"][0].as_py(), row["row_groups"][0].as_py()) for row in rows]


def harvest(
    batches: Iterable[pa.RecordBatch],
    leaves: Sequence[Leaf],
    case_sensitive: bool,
    settings: Mapping[str, str],
    stored: Stored | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read the footers of the files in batches of (ordinal, uri, size).

    Yields one row per batch, of two compressed Arrow IPC streams: `files` and `row_groups`. A file
    that cannot be read, or does not have the listed size, gets a row without statistics. For
    `stored` see `FooterReader`.
    """
    reader = FooterReader(leaves, case_sensitive, stored)
    file_systems = FileSystems(settings)

    def fetch(uri: str, size: int) -> pq.FileMetaData | str:
        if size < SMALLEST:  # opening a pipe would wait for another process
            return "the file is too short to be a Parquet file"
        try:
            fs, path = file_systems.locate(uri)
            with fs.open_input_file(path) as file:
                if file.size() != size:
                    return "the file has changed since it was listed"
                return pq.read_metadata(file)
        except Exception as problem:  # one bad file must not fail the build
            return f"{type(problem).__name__}: {problem}"

    with ThreadPoolExecutor(_CONCURRENT) as pool:
        for batch in batches:
            ordinals = batch.column("ordinal").to_pylist()
            uris = batch.column("uri").to_pylist()
            sizes = batch.column("size").to_pylist()
            footers = [_footer(reader, m) for m in pool.map(fetch, uris, sizes)]
            yield pa.record_batch(
                {
                    "files": pa.array([_ipc(files_table(ordinals, footers, leaves))], pa.binary()),
                    "row_groups": pa.array(
                        [_ipc(row_groups_table(ordinals, footers, leaves))], pa.binary()
                    ),
                }
            )


def _footer(reader: FooterReader, metadata: pq.FileMetaData | str) -> Footer:
    if isinstance(metadata, str):
        return unreadable(reader.leaves, metadata)
    try:
        return reader.read(metadata)
    except Exception as problem:  # one bad footer must not fail the build
        return unreadable(reader.leaves, f"{type(problem).__name__}: {problem}")


def files_table(ordinals: list[int], footers: list[Footer], leaves: Sequence[Leaf]) -> pa.Table:
    """Return statistics of files, one row per file."""
    known = [f.num_records is not None for f in footers]
    columns: dict[str, pa.Array] = {
        "ordinal": pa.array(ordinals, pa.int64()),
        "problem": pa.array([f.problem for f in footers], pa.string()),
        "num_records": pa.array([f.num_records for f in footers], pa.int64()),
        "row_groups": pa.array(
            [
                len(f.row_groups) if is_known else None
                for f, is_known in zip(footers, known, strict=True)
            ],
            pa.int32(),
        ),
    }
    _add_statistics(columns, [f.columns for f in footers], leaves)
    return pa.table(columns)


def row_groups_table(
    ordinals: list[int], footers: list[Footer], leaves: Sequence[Leaf]
) -> pa.Table:
    """Return statistics of row groups, one row per row group."""
    rows = [(o, group) for o, f in zip(ordinals, footers, strict=True) for group in f.row_groups]
    columns: dict[str, pa.Array] = {
        "file": pa.array([o for o, _ in rows], pa.int64()),
        "start": pa.array([group.start for _, group in rows], pa.int64()),
        "length": pa.array([group.length for _, group in rows], pa.int64()),
        "midpoint": pa.array([group.midpoint for _, group in rows], pa.int64()),
        "num_records": pa.array([group.num_records for _, group in rows], pa.int64()),
    }
    _add_statistics(columns, [group.columns for _, group in rows], leaves)
    return pa.table(columns)


def _add_statistics(
    columns: dict[str, pa.Array], rows: list[list[Any]], leaves: Sequence[Leaf]
) -> None:
    for k, leaf in enumerate(leaves):
        triples = [row[k] for row in rows]
        columns[f"min.{leaf.name}"] = typed([t[0] for t in triples], leaf)
        columns[f"max.{leaf.name}"] = typed([t[1] for t in triples], leaf)
        columns[f"null_count.{leaf.name}"] = pa.array([t[2] for t in triples], pa.int64())


def typed(values: list[Any], leaf: Leaf) -> pa.Array:
    """Convert values in the carrier of a leaf (see `decoding`) to an array of its type.

    >>> typed([1230, None], Leaf(("a",), "decimal(9,2)")).to_pylist()
    [Decimal('12.30'), None]
    """
    wanted = arrow_type(leaf)
    if leaf.decimal is not None:
        scale = -leaf.decimal[1]
        return pa.array(
            [None if v is None else Decimal(v).scaleb(scale, _EXACT) for v in values], wanted
        )
    if pa.types.is_date32(wanted):
        return pa.array(values, pa.int32()).cast(wanted)
    if pa.types.is_timestamp(wanted) or pa.types.is_boolean(wanted):
        return pa.array(values, pa.int64()).cast(wanted)
    return pa.array(values, wanted)


def _ipc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())
