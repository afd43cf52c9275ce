"""Hand-written Delta logs, and what the planner reads from them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.evaluation.domain.bounds import Bounds
from tamis.expr.nodes import Column
from tamis.expr.types import DataType
from tamis.indexing.read.snapshot import FileKeys
from tamis.tables.delta import DeltaStatistics, DeltaTables
from tamis.wire.delta import DeltaSnapshot


def struct_field(name: str, data_type: Any, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": data_type, "nullable": True, "metadata": metadata}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def schema_of(**types: Any) -> str:
    return json.dumps(struct(*(struct_field(name, each) for name, each in types.items())))


def add(path: str, stats: Any = None, vector: Any = None) -> dict[str, Any]:
    """Return an action. Statistics that are not text are written as JSON."""
    text = stats if stats is None or isinstance(stats, str) else json.dumps(stats)
    action = {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 1}
    action |= {"dataChange": True, "stats": text}
    if vector is not None:
        action["deletionVector"] = {"storageType": "u", "pathOrInlineDv": "x", **vector}
    return {"add": action}


def remove(path: str) -> dict[str, Any]:
    return {"remove": {"path": path, "deletionTimestamp": 1, "dataChange": True}}


@dataclass
class Log:
    """The log of a table in a directory."""

    directory: Path
    schema: str
    mapping: str = "none"
    partitions: Sequence[str] = ()
    checkpoint: list[str] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    tables: DeltaTables = field(default_factory=DeltaTables)

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    @property
    def path(self) -> Path:
        return self.directory / "_delta_log"

    @property
    def root(self) -> str:
        return f"file:{quote(str(self.directory))}"

    def uri(self, name: str) -> str:
        return f"{self.root}/_delta_log/{name}"

    def commit(self, *actions: dict[str, Any] | str) -> None:
        """Write the next commit. A text is a line as it is."""
        name = f"{len(self.commits):020}.json"
        lines = [each if isinstance(each, str) else json.dumps(each) for each in actions]
        (self.path / name).write_text("\n".join(lines) + "\n", "utf-8")
        self.commits.append(self.uri(name))

    def parquet(self, table: pa.Table, name: str = "9.checkpoint.parquet") -> None:
        """Write a file of a checkpoint."""
        pq.write_table(table, self.path / name)
        self.checkpoint.append(self.uri(name))

    def snapshot(self) -> DeltaSnapshot:
        return DeltaSnapshot(
            len(self.commits),
            self.root,
            list(self.checkpoint),
            list(self.commits),
            self.schema,
            self.mapping,
            list(self.partitions),
        )

    def statistics(
        self, *names: str, cache: Path | None = None, directory: str | None = None
    ) -> DeltaStatistics:
        """Return the statistics of files, named as Hadoop encodes them."""
        listing = files(directory or self.root, names)
        cache = cache or self.directory / "cache"
        return self.tables.statistics_of(self.snapshot(), listing, {}, str(cache))


def files(directory: str, names: Sequence[str]) -> FileKeys:
    def chunked(values: Sequence[Any], data_type: pa.DataType) -> pa.ChunkedArray:
        return pa.chunked_array([values], data_type)

    count = len(names)
    return FileKeys(
        (directory,),
        chunked([0] * count, pa.int32()),
        chunked(names, pa.string()),
        chunked([1] * count, pa.int64()),
        chunked([1] * count, pa.int64()),
    )


def column(path: str | tuple[str, ...], data_type: str) -> Column:
    parsed = DataType.parse(data_type)
    assert parsed is not None
    return Column((path,) if isinstance(path, str) else path, parsed)


def edges(bounds: Bounds, place: int = 0) -> tuple[Any, Any]:
    """Return the lower and upper edge of a container; None: unknown."""
    found = []
    for edge, known in ((bounds.lower, bounds.lower_known), (bounds.upper, bounds.upper_known)):
        value: Any = None
        if edge is not None and (known is None or known[place if len(known) > 1 else 0]):
            value = edge[place if len(edge) > 1 else 0]
            value = value.as_py() if isinstance(value, pa.Scalar) else value.item()
        found.append(value)
    return found[0], found[1]


def flags(bounds: Bounds, place: int = 0) -> tuple[bool, bool]:
    """Return whether there may be NULLs, and ordinary values."""
    pair = (bounds.can_be_null, bounds.can_be_value)
    nulls, values = (bool(each[place if len(each) > 1 else 0]) for each in pair)
    return nulls, values


def recorded(
    log: Log, data_type: str, low: Any, high: Any, name: str = "c", **more: Any
) -> tuple[Any, Any]:
    """Commit a file with bounds of one column, and return its edges."""
    file = f"f{len(log.commits)}"
    log.commit(add(file, stats(10, {name: low}, {name: high}, {name: 0}, **more)))
    return edges(log.statistics(file).bounds(column(name, data_type)))


def stats(
    records: Any,
    low: Mapping[str, Any] | None = None,
    high: Mapping[str, Any] | None = None,
    nulls: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    kinds = {"numRecords": records, "minValues": low, "maxValues": high, "nullCount": nulls}
    return {key: each for key, each in kinds.items() if each is not None} | more
