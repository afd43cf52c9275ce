"""The data files of Iceberg tables, with the statistics in their manifests.

`open_snapshot` reads a manifest list and the manifests that may matter, without pyiceberg, which
takes several times as long. The package polars decodes Avro.
"""

from tamis.tables.iceberg.errors import SnapshotUnreadable, UnreadableCode
from tamis.tables.iceberg.listing import IcebergFiles
from tamis.tables.iceberg.snapshot import IcebergSnapshots, open_snapshot

__all__ = [
    "IcebergFiles",
    "IcebergSnapshots",
    "SnapshotUnreadable",
    "UnreadableCode",
    "open_snapshot",
]
