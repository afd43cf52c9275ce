"""Bounds of one column as files of raw aligned arrays: written block by block, mapped as a whole.

    lower.npy  upper.npy                      numpy edges, and sort keys: lower_key.npy, …
    lower.bytes  lower.offsets.npy  …         edges of strings and binary: concatenated values
    lower.bytes                               edges of long decimals: sixteen bytes per value
    lower.valid.npy                           validity bits of an Arrow edge with unknown values
    can_be_null.npy  lower_known.npy  …       flags; a single one if all are equal
    content.json                              the names and sizes of the other files

A file that is not there has a meaning, such as that every value is known. So the content is listed,
and a folder that has lost a file is not read.

A block is a run of consecutive rows. Memory holds one block and the flags, however many rows there
are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Edge, Flags
from tamis.evaluation.domain.flags import simplified
from tamis.expr.types import DataType

__all__ = ["map_bounds", "write_bounds"]

_EDGES: Final = ("lower", "upper")
_FLAGS: Final = ("can_be_null", "can_be_nan", "can_be_value")
_KNOWN: Final = ("lower_known", "upper_known")
#: The sort keys of unknown edges: the widest possible.
_UNKNOWN_KEYS: Final = {"lower_key": 0, "upper_key": np.iinfo(np.uint64).max}
_DECIMAL_BYTES: Final = 16
_CONTENT: Final = "content.json"


def write_bounds(folder: Path, blocks: Iterable[tuple[int, Bounds]], rows: int) -> None:
    """Write bounds to a folder, block by block.

    Args:
        folder: The folder, which exists.
        blocks: Number of rows and bounds of each block.
        rows: Number of rows of all blocks together.

    Raises:
        ValueError: The blocks do not have `rows` rows in total.
        OSError: The folder cannot be written.
    """
    writer = _BoundsWriter(folder, rows)
    try:
        for count, bounds in blocks:
            writer.append(count, bounds)
        writer.finish()
    finally:
        writer.close()
    content = {path.name: path.stat().st_size for path in folder.iterdir()}
    (folder / _CONTENT).write_text(json.dumps(content), "utf-8")


class _BoundsWriter:
    def __init__(self, folder: Path, rows: int) -> None:
        self._folder = folder
        self._rows = rows
        self._written = 0
        self._files: dict[str, _NumberFile | _BytesFile | _DecimalFile] = {}
        self._flags: dict[str, list[tuple[int, Flags]]] = {}

    def append(self, count: int, bounds: Bounds) -> None:
        data_type = bounds.type
        for name in _EDGES:
            self._edge(name, getattr(bounds, name), count, data_type)
        keys = (None, None) if bounds.keys is None else bounds.keys
        for (name, unknown), key in zip(_UNKNOWN_KEYS.items(), keys, strict=True):
            self._number(name, key, count, np.uint64(unknown))
        for name in _FLAGS:
            self._flags.setdefault(name, []).append((count, getattr(bounds, name)))
        for name, edge in zip(_KNOWN, (bounds.lower, bounds.upper), strict=True):
            flags = getattr(bounds, name)
            known = NO if edge is None else YES if flags is None else flags
            self._flags.setdefault(name, []).append((count, known))
        self._written += count

    def _edge(self, name: str, edge: Edge | None, count: int, data_type: DataType) -> None:
        if data_type.is_floating:
            self._number(name, edge, count, np.float64(-np.inf if name == "lower" else np.inf))
        elif data_type.is_discrete:
            self._number(name, edge, count, np.int64(data_type.domain[name == "upper"]))
        elif edge is not None or name in self._files:
            if name not in self._files:
                kind = _DecimalFile if data_type.is_decimal else _BytesFile
                self._files[name] = kind(self._folder, name, self._rows)
                self._files[name].append(None, self._written)
            self._files[name].append(edge, count)

    def _number(self, name: str, values: Any, count: int, unknown: Any) -> None:
        """Append values to an array. Its file is created by the first block that has values."""
        if values is None and name not in self._files:
            return
        if name not in self._files:
            self._files[name] = _NumberFile(self._folder / f"{name}.npy", unknown, self._rows)
            self._files[name].append(None, self._written)
        self._files[name].append(values, count)

    def finish(self) -> None:
        if self._written != self._rows:
            raise ValueError(f"{self._written} rows of statistics instead of {self._rows}")
        for file in self._files.values():
            file.finish()
        for name, blocks in self._flags.items():
            edge = name.removesuffix("_known")
            if edge != name and edge not in self._files:
                continue
            flags = _joined(blocks)
            if edge == name or not flags.all():
                np.save(self._folder / f"{name}.npy", flags)

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def _joined(blocks: list[tuple[int, Flags]]) -> Flags:
    if all(len(flags) == 1 and flags[0] == blocks[0][1][0] for _, flags in blocks):
        return blocks[0][1]
    return simplified(np.concatenate([np.broadcast_to(flags, count) for count, flags in blocks]))


class _NumberFile:
    """One numpy array in the .npy format."""

    def __init__(self, path: Path, unknown: Any, rows: int) -> None:
        self._unknown = unknown
        self._file = _opened(path)
        header = np.lib.format.header_data_from_array_1_0(np.broadcast_to(unknown, 0))
        header["shape"] = (rows,)
        np.lib.format.write_array_header_1_0(self._file, header)

    def append(self, values: npt.NDArray[Any] | None, count: int) -> None:
        if values is None:
            values = np.full(1, self._unknown)
        block = np.broadcast_to(values, count).astype(self._unknown.dtype, copy=False)
        self._file.write(np.ascontiguousarray(block).data)

    def finish(self) -> None:
        """Do nothing: every value is already written."""

    def close(self) -> None:
        self._file.close()


class _ArrowFile:
    """One Arrow array: its bytes and its validity bits."""

    def __init__(self, folder: Path, name: str, rows: int) -> None:
        self._path = folder / name
        self._data = _opened(self._path.with_suffix(".bytes"))
        self._valid: list[npt.NDArray[np.bool_]] = []

    def append(self, edge: pa.Array | None, count: int) -> None:
        if edge is None:
            edge = pa.nulls(count, self._type())
        if len(edge) != count:
            raise ValueError(f"{len(edge)} values for {count} rows")
        self._valid.append(edge.is_valid().to_numpy(zero_copy_only=False))
        self._write(edge)

    def _type(self) -> pa.DataType:
        raise NotImplementedError

    def _write(self, edge: pa.Array) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        if not all(block.all() for block in self._valid):
            bits = np.packbits(np.concatenate(self._valid), bitorder="little")
            np.save(self._path.with_suffix(".valid.npy"), bits)

    def close(self) -> None:
        self._data.close()


class _BytesFile(_ArrowFile):
    """large_binary: the concatenated values, and the offset where each of them ends."""

    def __init__(self, folder: Path, name: str, rows: int) -> None:
        super().__init__(folder, name, rows)
        self._end = np.int64(0)
        self._offsets = _NumberFile(folder / f"{name}.offsets.npy", self._end, rows + 1)
        self._offsets.append(None, 1)

    def _type(self) -> pa.DataType:
        return pa.large_binary()

    def _write(self, edge: pa.Array) -> None:
        if len(edge) == 0:
            return
        _, offsets_buffer, data = edge.buffers()
        offsets = np.frombuffer(offsets_buffer, np.int64)[edge.offset : edge.offset + len(edge) + 1]
        if data is not None:
            self._data.write(memoryview(data)[int(offsets[0]) : int(offsets[-1])])
        ends = offsets[1:] + (self._end - offsets[0])
        self._offsets.append(ends, len(ends))
        self._end = ends[-1]

    def close(self) -> None:
        super().close()
        self._offsets.close()


class _DecimalFile(_ArrowFile):
    """decimal128: sixteen bytes per value."""

    def _type(self) -> pa.DataType:
        return pa.decimal128(38, 0)  # for nulls, only the width matters

    def _write(self, edge: pa.Array) -> None:
        data = edge.buffers()[1]
        first, length = _DECIMAL_BYTES * edge.offset, _DECIMAL_BYTES * len(edge)
        self._data.write(bytes(length) if data is None else memoryview(data)[first:][:length])


def _opened(path: Path) -> BinaryIO:
    return open(path, "wb", buffering=0)


# --- mapping -----------------------------------------------------------------------------------


def map_bounds(folder: Path, data_type: DataType, rows: int) -> Bounds:
    """Memory-map the bounds that `write_bounds` wrote to a folder.

    Raises:
        OSError, ValueError, pyarrow.ArrowException: A file is missing or damaged.
    """
    names: dict[str, int] = json.loads((folder / _CONTENT).read_text("utf-8"))
    for name, size in names.items():
        if (folder / name).stat().st_size != size:
            raise ValueError(f"{folder / name} is damaged")
    arrays = {
        name.removesuffix(".npy"): _map_numbers(folder / name)
        for name in names
        if name.endswith(".npy")
    }
    if not all(name in arrays for name in _FLAGS):
        raise ValueError(f"{folder} is not complete")
    edges = {
        name: _map_edge(folder, name, arrays, data_type, rows)
        if f"{name}.bytes" in names
        else arrays.get(name)
        for name in _EDGES
    }
    keys = tuple(arrays[name] for name in _UNKNOWN_KEYS if name in arrays)
    every_array = [*edges.values(), *keys, *(arrays[name] for name in _FLAGS)]
    if any(array is not None and len(array) not in (1, rows) for array in every_array):
        raise ValueError(f"{folder} does not have {rows} rows")
    return Bounds(
        data_type,
        edges["lower"],
        edges["upper"],
        arrays["can_be_null"],
        arrays["can_be_nan"],
        arrays["can_be_value"],
        arrays.get("lower_known"),
        arrays.get("upper_known"),
        keys=(keys[0], keys[1]) if len(keys) == 2 else None,
    )


def _map_numbers(path: Path) -> npt.NDArray[Any]:
    # a plain array, because slices of a numpy.memmap are expensive
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _map_edge(
    folder: Path, name: str, arrays: dict[str, Any], data_type: DataType, rows: int
) -> pa.Array:
    with pa.memory_map(str(folder / f"{name}.bytes")) as source:
        data = source.read_buffer() if source.size() else pa.py_buffer(b"")
    valid = arrays.get(f"{name}.valid")
    bits = None if valid is None else pa.py_buffer(valid)
    if data_type.is_decimal:
        wanted = pa.decimal128(38, data_type.scale)
        edge = pa.Array.from_buffers(wanted, rows, [bits, data])
    else:
        offsets = arrays[f"{name}.offsets"]
        if len(offsets) != rows + 1 or offsets[-1] != data.size:
            raise ValueError(f"{folder / name} is damaged")
        kind = pa.large_binary()
        edge = pa.Array.from_buffers(kind, rows, [bits, pa.py_buffer(offsets), data])
    edge.validate()
    return edge
