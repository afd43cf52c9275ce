"""An index built without Spark: the listing and the job are made in this process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from tamis.index.handle import Index
from tamis.index.harvest import files_table, harvest, row_groups_table
from tamis.index.leaves import Leaf
from tamis.index.listing import TableListing
from tamis.index.snapshot import open_snapshot
from tamis.index.store import Store

# What java.net.URI leaves as it is in a path, beside letters and digits.
_UNQUOTED = "/-_.~!$&'()*+,;=:@"


def uri_of(path: Path) -> str:
    """As Hadoop's Path.toUri.toString: other letters than ASCII stay."""
    text = str(path)
    return "file:" + "".join(c if ord(c) > 127 else quote(c, safe=_UNQUOTED) for c in text)


def spark_schema(**columns: Any) -> str:
    """Spark's JSON of a schema: name=type, or name={field: type} for a struct."""

    def struct(fields: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "type": "struct",
            "fields": [
                {
                    "name": name,
                    "type": struct(kind) if isinstance(kind, dict) else kind,
                    "nullable": True,
                    "metadata": {},
                }
                for name, kind in fields.items()
            ],
        }

    return json.dumps(struct(columns))


def write_snapshot(
    root: Path,
    directory: Path,
    partitions: Mapping[str, pa.Array] | None = None,
    order: Sequence[Path] | None = None,
) -> tuple[str, int]:
    """Lists the Parquet files below a root as the JVM does; returns fingerprint and count.

    `partitions`: one value a directory, directories in the order of their names.
    """
    files = list(order) if order is not None else sorted(root.rglob("*.parquet"))
    directories = sorted({file.parent for file in files})
    rows = [(directories.index(f.parent), f, f.stat()) for f in files]
    table = pa.table(
        {
            "group": pa.array([group for group, _, _ in rows], pa.int32()),
            "name": pa.array([uri_of(f).rpartition("/")[2] for _, f, _ in rows], pa.string()),
            "size": pa.array([status.st_size for _, _, status in rows], pa.int64()),
            "mtime": pa.array([status.st_mtime_ns // 10**6 for _, _, status in rows], pa.int64()),
        }
    )
    groups = pa.table(
        {
            "directory": pa.array([uri_of(d) for d in directories], pa.string()),
            **{f"partition.{name}": values for name, values in (partitions or {}).items()},
        }
    )
    fingerprint = hashlib.sha256(repr(table.to_pydict()).encode()).hexdigest()[:32]
    directory.mkdir(parents=True, exist_ok=True)
    for part, content in (("files", table), ("groups", groups)):
        path = directory / f"{fingerprint}.{part}.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, content.schema) as writer:
            # several batches, as the JVM writes them
            writer.write_table(content, max_chunksize=3)
    return fingerprint, len(files)


class LocalIndex(Index):
    """`tamis.index(spark, root)` of a directory of this machine, without Spark."""

    def __init__(
        self,
        root: Path,
        schema: str,
        scratch: Path,
        location: str | None = None,
        case_sensitive: bool = False,
    ) -> None:
        super().__init__(None, str(root))  # type: ignore[arg-type]
        self.root, self.schema, self.scratch = root, schema, scratch
        self.location, self.case_sensitive = location, case_sensitive
        self.read: list[str] = []  # names of files whose footers were read, ever

    def _list(self) -> TableListing:
        fingerprint, _ = write_snapshot(self.root, self.scratch / "listing")
        return TableListing(
            uri_of(self.root),
            open_snapshot(str(self.scratch / "listing"), fingerprint),
            self.schema,
            spark_schema(),
            self.case_sensitive,
        )

    def store(self) -> Store:
        return Store.at(uri_of(self.root), self.location, {})

    def _store(self, listing: TableListing) -> Store:
        return self.store()

    def _read(
        self, listing: TableListing, ordinals: np.ndarray, leaves: Sequence[Leaf]
    ) -> tuple[pa.Table, pa.Table]:
        keys = listing.snapshot.files
        uris = [keys.uris()[i] for i in ordinals]
        self.read += [uri.rpartition("/")[2] for uri in uris]
        if not uris:
            return files_table([], [], leaves), row_groups_table([], [], leaves)
        batch = pa.record_batch(
            {
                "ordinal": pa.array(ordinals, pa.int64()),
                "uri": pa.array(uris),
                "size": pa.array([keys.size[i].as_py() for i in ordinals], pa.int64()),
            }
        )
        results = list(harvest([batch], leaves, self.case_sensitive, {}))
        files, row_groups = (
            pa.concat_tables(
                pa.ipc.open_stream(r.column(name)[0].as_py()).read_all() for r in results
            )
            for name in ("files", "row_groups")
        )
        return files, row_groups
