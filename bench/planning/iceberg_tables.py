"""Tables of Iceberg with invented manifests, whose data files do not exist."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import ManifestFile, write_manifest_list

from bench.planning.iceberg_manifests import write_manifests

_SNAPSHOT = 1


class Tables:
    """Tables of equal content in the namespace `db` of a Hadoop catalog.

    Args:
        warehouse: The directory of the catalog, which is replaced.
        size: How many files each table has.
    """

    def __init__(self, warehouse: Path, size: int) -> None:
        self._namespace = warehouse / "db"
        shutil.rmtree(warehouse, ignore_errors=True)
        originals = warehouse / "manifests"
        originals.mkdir(parents=True)
        self._manifests, self._schema = write_manifests(originals, size)

    def add(self, name: str) -> None:
        """Add a table whose only snapshot has the manifests of all others added so."""
        self._commit(name, self._manifests)

    def add_copy(self, name: str) -> None:
        """Add a table with manifests of its own."""
        directory = self._namespace / name / "manifests"
        directory.mkdir(parents=True)
        copies = []
        for manifest in self._manifests:
            source = Path(manifest.manifest_path.removeprefix("file://"))
            target = Path(shutil.copy(source, directory))
            fields = list(manifest._data)
            fields[0] = target.as_uri()
            copies.append(ManifestFile(*fields))
        self._commit(name, copies)

    def _commit(self, name: str, manifests: Sequence[ManifestFile]) -> None:
        table = self._namespace / name
        metadata = table / "metadata"
        metadata.mkdir(parents=True)
        listed = (metadata / "snap-1.avro").as_uri()
        output = PyArrowFileIO({}).new_output(listed)
        with write_manifest_list(2, output, _SNAPSHOT, None, 1, "deflate") as writer:
            writer.add_manifests(list(manifests))
        document = _metadata(table.as_uri(), self._schema, listed)
        (metadata / "v1.metadata.json").write_text(json.dumps(document))
        (metadata / "version-hint.text").write_text("1")


def _metadata(location: str, schema: str, manifest_list: str) -> dict[str, Any]:
    """Return the metadata of a table of format version 2 with one snapshot."""
    return {
        "format-version": 2,
        "table-uuid": "6c0f3a52-6a2c-4b0e-9a39-0c4b5be5d1a1",
        "location": location,
        "last-sequence-number": 1,
        "last-updated-ms": 1_700_000_000_000,
        "last-column-id": 16,
        "current-schema-id": 0,
        "schemas": [{**json.loads(schema), "schema-id": 0}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {},
        "current-snapshot-id": _SNAPSHOT,
        "refs": {"main": {"snapshot-id": _SNAPSHOT, "type": "branch"}},
        "snapshots": [
            {
                "snapshot-id": _SNAPSHOT,
                "sequence-number": 1,
                "timestamp-ms": 1_700_000_000_000,
                "schema-id": 0,
                "summary": {"operation": "append"},
                "manifest-list": manifest_list,
            }
        ],
    }
