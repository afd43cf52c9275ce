"""Hand-made snapshots: manifests with any content, also what no library writes."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from tamis.tables.iceberg import IcebergFiles, IcebergSnapshots
from tamis.wire.iceberg import IcebergSnapshot
from tests.tables.iceberg.avro_writer import avro_file

#: The field id of the column `file_path` of position delete files.
FILE_PATH = 2147483546


def long(value: int) -> bytes:
    return struct.pack("<q", value)


def integer(value: int) -> bytes:
    return struct.pack("<i", value)


def double(value: float) -> bytes:
    return struct.pack("<d", value)


def unscaled(value: Decimal, scale: int) -> bytes:
    """Return a decimal as Iceberg writes its bounds, in as few bytes as possible."""
    number = int(value.scaleb(scale))
    return number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


@dataclass(frozen=True)
class File:
    """An entry of a manifest. `partition` has the values in the order of the spec's fields."""

    location: str
    records: Any = 10
    values: Mapping[int, int] | None = None
    nulls: Mapping[int, int] | Sequence[tuple[int, int]] | None = None
    nans: Mapping[int, int] | None = None
    lower: Mapping[int, bytes] | Sequence[tuple[int, bytes]] | None = None
    upper: Mapping[int, bytes] | Sequence[tuple[int, bytes]] | None = None
    partition: Sequence[Any] = ()
    status: int = 1
    sequence_number: int | None = None
    content: int = 0
    format: str = "PARQUET"
    size: int = 1000
    referenced: str | None = None
    key_metadata: bytes | None = None


@dataclass(frozen=True)
class Spec:
    """A partition spec: for each field its id, name, source, transform, and Avro type."""

    id: int = 0
    fields: Sequence[tuple[int, str, int, str, Any]] = ()

    def document(self) -> str:
        return json.dumps(
            {
                "spec-id": self.id,
                "fields": [
                    {"field-id": i, "name": name, "source-id": source, "transform": transform}
                    for i, name, source, transform, _ in self.fields
                ],
            }
        )


@dataclass
class Lake:
    """A table whose metadata is below a folder.

    `columns` are (field id, name, type), where a type may also be Iceberg's JSON of a type.
    """

    folder: Path
    columns: Sequence[tuple[int, str, Any]]
    specs: Sequence[Spec] = (Spec(),)
    version: int = 2
    entries: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        *files: File,
        spec: int = 0,
        deletes: bool = False,
        sequence_number: int = 1,
        summaries: Sequence[Any] | None = None,
        counts: tuple[int | None, int | None] = (0, 0),
        key_metadata: bytes | None = None,
        codec: str = "deflate",
        records_per_block: int = 1000,
    ) -> Path:
        """Write a manifest. `counts` are the existing files and their rows."""
        path = self.folder / f"m{len(self.entries)}.avro"
        of_spec = next(each for each in self.specs if each.id == spec)
        data = avro_file(
            entry_schema(of_spec, self.version),
            [entry(each, of_spec) for each in files],
            codec=codec,
            records_per_block=records_per_block,
        )
        path.write_bytes(data)
        live = [each for each in files if each.status != 2]
        self.entries.append(
            {
                "manifest_path": str(path),
                "manifest_length": len(data),
                "partition_spec_id": spec,
                "content": int(deletes),
                "sequence_number": sequence_number,
                "added_files_count": None if counts[0] is None else len(live),
                "existing_files_count": counts[0],
                "added_rows_count": (
                    None if counts[1] is None else sum(each.records for each in live)
                ),
                "existing_rows_count": counts[1],
                "partitions": summaries,
                "key_metadata": key_metadata,
            }
        )
        return path

    def snapshot(self) -> IcebergSnapshot:
        """Write the manifest list."""
        path = self.folder / f"list{len(self.entries)}.avro"
        path.write_bytes(avro_file(list_schema(self.version), self.entries))
        fields = [
            {"id": i, "name": name, "required": False, "type": data_type}
            for i, name, data_type in self.columns
        ]
        schema = json.dumps({"type": "struct", "schema-id": 0, "fields": fields})
        specs = [each.document() for each in self.specs]
        return IcebergSnapshot(self.version, 1, str(path), schema, specs)

    def open(self, cache_directory: Path | None = None, *conjuncts: Any) -> IcebergFiles:
        directory = None if cache_directory is None else str(cache_directory)
        snapshots = IcebergSnapshots()
        chosen = snapshots.choose(self.snapshot(), {}, conjuncts)
        return snapshots.open(chosen.snapshot, {}, directory)


def summary(
    lower: bytes | None, upper: bytes | None, contains_null: bool = False
) -> dict[str, Any]:
    return {
        "contains_null": contains_null,
        "contains_nan": None,
        "lower_bound": lower,
        "upper_bound": upper,
    }


def _field(field_id: int, name: str, data_type: Any, optional: bool = False) -> dict[str, Any]:
    return {
        "field-id": field_id,
        "name": name,
        "type": ["null", data_type] if optional else data_type,
    }


def _record(name: str, *fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _map(key: int, value: int, data_type: str) -> dict[str, Any]:
    items = _record(
        f"k{key}_v{value}", _field(key, "key", "int"), _field(value, "value", data_type)
    )
    return {"type": "array", "logicalType": "map", "items": items}


#: polars refuses its default value.
_BLOCK_SIZE = {**_field(105, "block_size_in_bytes", "long"), "default": 67108864}


def list_schema(version: int) -> dict[str, Any]:
    of_field = _record(
        "r508",
        _field(509, "contains_null", "boolean"),
        _field(518, "contains_nan", "boolean", True),
        _field(510, "lower_bound", "bytes", True),
        _field(511, "upper_bound", "bytes", True),
    )
    later = [_field(517, "content", "int"), _field(515, "sequence_number", "long")]
    return _record(
        "manifest_file",
        _field(500, "manifest_path", "string"),
        _field(501, "manifest_length", "long"),
        _field(502, "partition_spec_id", "int"),
        *(later if version > 1 else []),
        _field(504, "added_files_count", "int", True),
        _field(505, "existing_files_count", "int", True),
        _field(512, "added_rows_count", "long", True),
        _field(513, "existing_rows_count", "long", True),
        _field(507, "partitions", {"type": "array", "items": of_field}, True),
        _field(519, "key_metadata", "bytes", True),
    )


def entry_schema(spec: Spec, version: int) -> dict[str, Any]:
    partition = _record("r102", *(_field(i, name, t, True) for i, name, _, _, t in spec.fields))
    data_file = _record(
        "r2",
        *([_field(134, "content", "int")] if version > 1 else []),
        _field(100, "file_path", "string"),
        _field(101, "file_format", "string"),
        _field(102, "partition", partition),
        _field(103, "record_count", "long"),
        _field(104, "file_size_in_bytes", "long"),
        *([_BLOCK_SIZE] if version == 1 else []),
        _field(109, "value_counts", _map(119, 120, "long"), True),
        _field(110, "null_value_counts", _map(121, 122, "long"), True),
        _field(137, "nan_value_counts", _map(138, 139, "long"), True),
        _field(125, "lower_bounds", _map(126, 127, "bytes"), True),
        _field(128, "upper_bounds", _map(129, 130, "bytes"), True),
        _field(131, "key_metadata", "bytes", True),
        _field(143, "referenced_data_file", "string", True),
    )
    later = [_field(3, "sequence_number", "long", True)]
    return _record(
        "manifest_entry",
        _field(0, "status", "int"),
        *(later if version > 1 else []),
        _field(2, "data_file", data_file),
    )


def entry(file: File, spec: Spec) -> dict[str, Any]:
    names = [name for _, name, _, _, _ in spec.fields]
    return {
        "status": file.status,
        "sequence_number": file.sequence_number,
        "data_file": {
            "content": file.content,
            "file_path": file.location,
            "file_format": file.format,
            "partition": dict(zip(names, file.partition, strict=True)),
            "record_count": file.records,
            "file_size_in_bytes": file.size,
            "block_size_in_bytes": 67108864,
            "value_counts": _pairs(file.values),
            "null_value_counts": _pairs(file.nulls),
            "nan_value_counts": _pairs(file.nans),
            "lower_bounds": _pairs(file.lower),
            "upper_bounds": _pairs(file.upper),
            "key_metadata": file.key_metadata,
            "referenced_data_file": file.referenced,
        },
    }


def _pairs(entries: Any) -> list[dict[str, Any]] | None:
    if entries is None:
        return None
    pairs = entries.items() if isinstance(entries, Mapping) else entries
    return [{"key": key, "value": value} for key, value in pairs]
