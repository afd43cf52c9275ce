"""Decode manifest lists and manifests of format versions 1 to 3, which are Avro files.

Fields are found by the field ids in the Avro schema, because early releases of Iceberg spell some
names differently. A version 2 table may have manifests of version 1: what these lack is null here.

Source: Iceberg table specification, "Manifests" and "Manifest Lists".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.tables.iceberg.avro import AvroFile, Lanes, read_avro
from tamis.tables.iceberg.avro_lanes import Pairs, PairsOfAll
from tamis.tables.iceberg.errors import SnapshotUnreadable, UnreadableCode
from tamis.tables.iceberg.manifest import (
    NO_FILES,
    Content,
    Manifest,
    ManifestFile,
    MetricKind,
    Metrics,
    Summary,
    partition_column,
)

__all__ = ["decode_manifest", "decode_manifest_list"]

_DATA_FILE: Final = 2
_PARTITION: Final = 102
_STATUS: Final = 0
_DELETED: Final = 2
_SEQUENCE_NUMBER: Final = 3
_METRICS: Final[Mapping[MetricKind, int]] = {
    MetricKind.VALUES: 109,
    MetricKind.NULLS: 110,
    MetricKind.NANS: 137,
    MetricKind.LOWER: 125,
    MetricKind.UPPER: 128,
}
#: Field ids of a data file, with the Arrow type here.
_FILE_COLUMNS: Final[Mapping[str, tuple[int, pa.DataType]]] = {
    "content": (134, pa.int8()),
    "location": (100, pa.string()),
    "format": (101, pa.string()),
    "records": (103, pa.int64()),
    "size": (104, pa.int64()),
    "referenced": (143, pa.string()),
}
_LOCATION: Final = 100
_LANES: Final = Lanes(
    _DATA_FILE,
    _LOCATION,
    frozenset((_PARTITION, *_METRICS.values(), *(n for n, _ in _FILE_COLUMNS.values()))),
)


def decode_manifest_list(data: bytes, location: str) -> tuple[ManifestFile, ...]:
    """Return the entries of a manifest list.

    Raises:
        SnapshotUnreadable: It cannot be read.
    """
    avro = read_avro(data, location)
    names = _names(avro.schema)
    try:
        return tuple(_manifest_file(row, names) for row in avro.table.to_pylist())
    except (KeyError, TypeError, ValueError) as problem:
        raise _malformed(location, problem) from problem


def _manifest_file(row: Mapping[str, Any], names: Mapping[int, str]) -> ManifestFile:
    def get(field_id: int) -> Any:
        return row.get(names.get(field_id, ""))

    content = get(517) or 0
    if content not in (0, 1):
        raise ValueError(f"a manifest has the content {content}")
    summaries = get(507)
    return ManifestFile(
        str(row[names[500]]),
        int(row[names[501]]),
        int(row[names[502]]),
        content == 1,
        int(get(515) or 0),
        _sum(get(504), get(505)),
        _sum(get(512), get(513)),
        get(519) is not None,
        None if summaries is None else tuple(_summary(each) for each in summaries),
    )


def _sum(added: int | None, existing: int | None) -> int | None:
    if added is None or existing is None or added < 0 or existing < 0:
        return None
    return added + existing


def _summary(document: Mapping[str, Any]) -> Summary:
    return Summary(
        document.get("contains_null"),
        document.get("contains_nan"),
        document.get("lower_bound"),
        document.get("upper_bound"),
    )


def decode_manifest(data: bytes, location: str) -> Manifest:
    """Return the live entries of a manifest.

    Raises:
        SnapshotUnreadable: It cannot be read, or a required field is missing or null.
    """
    avro = read_avro(data, location, _LANES)
    try:
        return _manifest(avro)
    except (KeyError, TypeError, ValueError, pa.ArrowException) as problem:
        raise _malformed(location, problem) from problem


def _manifest(avro: AvroFile) -> Manifest:
    names = _names(avro.schema)
    table = avro.table
    if not table.num_rows:
        return NO_FILES
    status = table.column(names[_STATUS])
    if status.null_count or not pc.all(pc.is_in(status, pa.array([0, 1, 2])), min_count=0).as_py():
        raise ValueError("an entry has no known status")
    is_live = _one(pc.not_equal(status, _DELETED))
    all_live = pc.all(is_live).as_py()
    if not all_live:
        table = table.filter(is_live)
    data_file = _one(table.column(names[_DATA_FILE]))
    inner = _names(_record(avro.schema, _DATA_FILE))
    count = table.num_rows

    def get(field_id: int) -> pa.Array | None:
        name = inner.get(field_id)
        return None if name is None or name in avro.pairs else pc.struct_field(data_file, name)

    columns: dict[str, pa.Array] = {
        "status": _one(table.column(names[_STATUS])).cast(pa.int8()),
        "sequence_number": (
            _one(table.column(names[_SEQUENCE_NUMBER])).cast(pa.int64())
            if _SEQUENCE_NUMBER in names
            else pa.nulls(count, pa.int64())
        ),
    }
    for name, (field_id, data_type) in _FILE_COLUMNS.items():
        values = get(field_id)
        columns[name] = pa.nulls(count, data_type) if values is None else values.cast(data_type)
    columns["content"] = pc.fill_null(columns["content"], Content.DATA)
    for required in ("location", "format", "records", "size"):
        if columns[required].null_count:
            raise ValueError(f"a file has no {required}")
    columns |= _partition_values(get(_PARTITION), _record_in(avro.schema))
    metrics = {}
    for kind, field_id in _METRICS.items():
        pairs = avro.pairs.get(inner.get(field_id, ""))
        if pairs is not None:
            live = pairs if all_live else pairs.where(is_live.to_numpy(zero_copy_only=False))
            metrics[kind] = _metrics(live, kind, count)
        elif (lists := get(field_id)) is not None:
            metrics[kind] = _metrics(_pairs(lists), kind, count)
    return Manifest(pa.table(columns), metrics)


def _names(record: Mapping[str, Any]) -> dict[int, str]:
    """Return the names of the fields of an Avro record by their field ids."""
    return {
        int(each["field-id"]): str(each["name"]) for each in record["fields"] if "field-id" in each
    }


def _record(record: Mapping[str, Any], field_id: int) -> Mapping[str, Any]:
    """Return the record that is the type of a field of a record, which may be optional."""
    for each in record["fields"]:
        if each.get("field-id") == field_id:
            options: Sequence[Any] = (
                each["type"] if isinstance(each["type"], list) else [each["type"]]
            )
            for option in options:
                if isinstance(option, dict) and option.get("type") == "record":
                    return option
    raise KeyError(f"there is no struct {field_id}")


def _record_in(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return _record(_record(schema, _DATA_FILE), _PARTITION)


def _partition_values(values: pa.Array | None, record: Mapping[str, Any]) -> dict[str, pa.Array]:
    """Return the values of each partition field. An ambiguous field is left out."""
    if values is None:
        return {}
    ids = [each.get("field-id") for each in record["fields"]]
    columns = {}
    for each in record["fields"]:
        field_id = each.get("field-id")
        if field_id is not None and ids.count(field_id) == 1:
            columns[partition_column(int(field_id))] = _plain(
                pc.struct_field(values, str(each["name"]))
            )
    return columns


def _plain(values: pa.Array) -> pa.Array:
    """Return values with small offsets, and timestamps without a zone, as polars adds one."""
    if pa.types.is_large_string(values.type):
        return values.cast(pa.string())
    if pa.types.is_large_binary(values.type):
        return values.cast(pa.binary())
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.timestamp(values.type.unit))
    return values


def _pairs(lists: pa.Array) -> Pairs:
    """Return the keys and values of one list per file."""
    entries = pc.list_flatten(lists)
    keys, values = pc.struct_field(entries, "key"), pc.struct_field(entries, "value")
    if keys.null_count or values.null_count:
        raise ValueError("an entry of a map is null")
    parents = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    return Pairs(parents, keys.to_numpy(zero_copy_only=False), values)


def _metrics(pairs: Pairs | PairsOfAll, kind: MetricKind, count: int) -> Metrics:
    """Return metrics, sorted."""
    if isinstance(pairs, PairsOfAll):
        return _metrics_of_all(pairs, kind, count)
    ids, rows, values = pairs.keys, pairs.parents, pairs.values
    if not pairs.is_sorted:
        # numpy sorts 16 bits by radix, which is ten times as fast
        narrow = len(ids) == 0 or (int(ids.min()) >= 0 and int(ids.max()) < 1 << 16)
        order = np.argsort(ids.astype(np.uint16) if narrow else ids, kind="stable")
        ids, rows = ids[order], rows[order]
        # A map with a key twice contradicts itself, so neither value is known.
        again = (ids[1:] == ids[:-1]) & (rows[1:] == rows[:-1])
        if again.any():
            ambiguous = np.append(again, False) | np.insert(again, 0, False)
            ids, rows, order = ids[~ambiguous], rows[~ambiguous], order[~ambiguous]
        values = values.take(pa.array(order))
    values = values.cast(pa.binary() if kind.is_bound else pa.int64())
    return _indexed(ids, rows, _one(values), count)


def _metrics_of_all(pairs: PairsOfAll, kind: MetricKind, count: int) -> Metrics:
    ids = pairs.keys[: None if count else 0]  # no file has metrics if there is no file
    return Metrics(
        ids.astype(np.int32),
        np.arange(len(ids) + 1) * count,
        np.full(len(ids), -1),
        np.empty(0, np.int32),
        pairs.values.cast(pa.binary() if kind.is_bound else pa.int64()),
    )


def _indexed(ids: Any, rows: Any, values: pa.Array, count: int) -> Metrics:
    firsts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1])) if len(ids) else np.zeros(0, int)
    starts = np.append(firsts, len(ids)).astype(np.int64)
    lengths = np.diff(starts)
    is_partial = lengths != count
    kept = np.repeat(is_partial, lengths)
    before = np.append(0, np.cumsum(np.where(is_partial, lengths, 0)))[:-1]
    return Metrics(
        ids[firsts].astype(np.int32),
        starts,
        np.where(is_partial, before, -1).astype(np.int64),
        rows[kept].astype(np.int32),
        values,
    )


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    combined = column.combine_chunks()
    if isinstance(combined, pa.ChunkedArray):
        return (
            pa.concat_arrays(combined.chunks) if combined.num_chunks else pa.nulls(0, column.type)
        )
    return combined


def _malformed(location: str, problem: Exception) -> SnapshotUnreadable:
    return SnapshotUnreadable(
        UnreadableCode.METADATA,
        f"{location} is not metadata of format version 1 to 3 ({problem!r:.200})",
    )
