"""Logs of Delta tables as other writers write them, with what deltalake does not write."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap


def column(name: str, data_type: Any = "long", **mapping: Any) -> dict[str, Any]:
    metadata = {f"delta.columnMapping.{key}": value for key, value in mapping.items()}
    return {"name": name, "type": data_type, "nullable": True, "metadata": metadata}


def write_log(
    root: Path,
    columns: list[dict[str, Any]],
    files: list[dict[str, Any]],
    *features: str,
    partitions: list[str] | None = None,
    mode: str | None = None,
) -> Path:
    """Write the log of a table with some files, given as add actions."""
    (root / "_delta_log").mkdir(parents=True)
    protocol: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 2}
    if features:
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
        protocol |= {"readerFeatures": features, "writerFeatures": features}
    metadata = {
        "id": "1",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": columns}),
        "partitionColumns": partitions or [],
        "configuration": {} if mode is None else {"delta.columnMapping.mode": mode},
    }
    common = {"partitionValues": {}, "modificationTime": 0, "dataChange": True}
    actions = [{"protocol": protocol}, {"metaData": metadata}]
    actions += [{"add": {**common, **each}} for each in files]
    text = "\n".join(json.dumps(each) for each in actions)
    (root / "_delta_log" / f"{0:020}.json").write_text(text)
    return root


def file_of(path: Path, rows: pa.Table, **more: Any) -> dict[str, Any]:
    """Write a file; return its add action."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, row_group_size=2)
    stats = json.dumps({"numRecords": rows.num_rows})
    return {"path": quote(path.name), "size": path.stat().st_size, "stats": stats, **more}


def with_ids(**columns: tuple[int, list[Any]]) -> pa.Table:
    fields = [
        pa.field(name, pa.int64(), metadata={"PARQUET:field_id": str(number)})
        for name, (number, _) in columns.items()
    ]
    return pa.table([cells for _, cells in columns.values()], pa.schema(fields))


def deleted(*places: int) -> dict[str, Any]:
    """Return a deletion vector inside of the log."""
    bitmap = struct.pack("<iqI", 1681511377, 1, 0) + BitMap(places).serialize()
    padded = bitmap + b"\0" * (-len(bitmap) % 4)
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    text = ""
    for start in range(0, len(padded), 4):
        number = int.from_bytes(padded[start : start + 4], "big")
        text += "".join(digits[number // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return {
        "storageType": "i",
        "pathOrInlineDv": text,
        "sizeInBytes": len(bitmap),
        "cardinality": len(places),
    }
