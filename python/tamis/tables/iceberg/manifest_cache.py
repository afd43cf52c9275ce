"""Manifests in the local cache, mapped rather than read.

    <cache>/<version>/<manifest>/<length>/manifest/table.arrow   see `to_table`
    <cache>/<version>/<manifest>/<length>/manifest/sum           the checksum of table.arrow

A manifest never changes, so its location and length identify it. An entry that is damaged or was
not written by this code is made again. The conventions are those of `indexing.read.cache`: entries
appear in one step, and the least recently used ones are removed beyond a number of bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tamis.indexing.read.cache import LocalCache
from tamis.tables.iceberg.manifest import Manifest, MetricKind, Metrics

__all__ = ["cached_manifest"]

#: Raise when this code would misread tables written earlier under the same version of tamis.
_FORM: Final = "iceberg-manifest-2"
_FILES: Final = "files."


def cached_manifest(
    location: str, length: int, directory: str | None, make: Callable[[], Manifest]
) -> Manifest:
    """Return a manifest from the cache; make and keep it if it is missing or damaged.

    Args:
        location: The location of the manifest.
        length: Its length in bytes, according to the manifest list.
        directory: The directory of the cache; None: nothing is kept.
        make: Reads the manifest. Its exceptions are passed on, except those of damaged entries.
    """
    if directory is None:
        return make()
    made: list[Manifest] = []

    def once() -> Manifest:
        if not made:
            made.append(make())
        return made[0]

    cache = LocalCache.of(f"{_FORM}:{location}", str(length), directory)
    identity = f"{_FORM}:{length}:{location}"
    return cache.kept(
        "manifest",
        lambda entry: _read(entry, identity),
        lambda draft: _write(draft, once(), identity),
        once,
    )


def _write(folder: Path, manifest: Manifest, identity: str) -> None:
    table = to_table(manifest).replace_schema_metadata({"manifest": identity})
    path = folder / "table.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pa.memory_map(str(path)) as source:
        (folder / "sum").write_text(_checksum(source.read_buffer()))


def _read(folder: Path, identity: str) -> Manifest:
    """Map an entry.

    Raises:
        OSError, ValueError, KeyError: It is missing, damaged, or that of another manifest.
    """
    expected = (folder / "sum").read_text()
    with pa.memory_map(str(folder / "table.arrow")) as source:
        data = source.read_buffer()
    if _checksum(data) != expected:
        raise ValueError("the entry is damaged")
    table = pa.ipc.open_file(data).read_all()
    if (table.schema.metadata or {}).get(b"manifest") != identity.encode():
        raise ValueError("the entry is that of another manifest")
    return from_table(table)


def _checksum(data: pa.Buffer) -> str:
    """Return the length and the sum of the words, which any page that was not written changes.

    It reads 10 GB/s, so it costs less than evaluating the first predicate.
    """
    whole = len(data) // 8 * 8
    words = np.frombuffer(data, np.uint64, whole // 8)
    return f"{len(data)} {int(words.sum(dtype=np.uint64))} {bytes(data[whole:]).hex()}"


def to_table(manifest: Manifest) -> pa.Table:
    """Return a manifest as a table of one row, because its columns have several lengths.

    `files.<column>` is the list of the values of a column of `Manifest.files`. `<kind>.rows` and
    `<kind>.values` are those parts of `Metrics`, and `<kind>.index` is the other parts together.
    """
    columns = {
        f"{_FILES}{name}": manifest.files.column(name) for name in manifest.files.column_names
    }
    for kind, metrics in manifest.metrics.items():
        parts = (metrics.ids.astype(np.int64), metrics.starts, metrics.row_starts)
        columns[f"{kind}.index"] = np.concatenate(parts)
        columns[f"{kind}.rows"] = metrics.rows
        columns[f"{kind}.values"] = metrics.values
    return pa.table({name: _one_list(values) for name, values in columns.items()})


def _one_list(values: Any) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks != 1 else values.chunk(0)
    elif isinstance(values, np.ndarray):
        values = pa.array(values)
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def from_table(table: pa.Table) -> Manifest:
    """Return the manifest of `to_table`, without a copy.

    Raises:
        KeyError, ValueError: The table has another form.
    """
    if table.num_rows != 1:
        raise ValueError("the table does not have one row")

    lists = {name: column.chunk(0).values for name, column in _columns(table)}
    files = {
        name[len(_FILES) :]: values for name, values in lists.items() if name.startswith(_FILES)
    }
    metrics = {}
    for kind in MetricKind:
        if f"{kind}.index" in lists:
            index = lists[f"{kind}.index"].to_numpy()
            count = len(index) // 3  # there is one start more than ids
            metrics[kind] = Metrics(
                index[:count].astype(np.int32),
                index[count : 2 * count + 1],
                index[2 * count + 1 :],
                lists[f"{kind}.rows"].to_numpy(),
                lists[f"{kind}.values"],
            )
    return Manifest(pa.table(files), metrics)


def _columns(table: pa.Table) -> Iterable[tuple[str, pa.ChunkedArray]]:
    return zip(table.column_names, table.columns, strict=True)
