"""The data files of Iceberg tables, with the statistics in their manifests.

`choose_manifests` reads a manifest list, and `open_snapshot` the manifests that may matter, without
pyiceberg, which takes several times as long. The package polars decodes Avro.
"""

from tamis.tables.iceberg.errors import SnapshotUnreadable, UnreadableCode
from tamis.tables.iceberg.listing import IcebergFiles
from tamis.tables.iceberg.snapshot import (
    ChosenManifests,
    IcebergSnapshots,
    choose_manifests,
    open_snapshot,
)

__all__ = [
    "ChosenManifests",
    "IcebergFiles",
    "IcebergSnapshots",
    "SnapshotUnreadable",
    "UnreadableCode",
    "choose_manifests",
    "open_snapshot",
]
