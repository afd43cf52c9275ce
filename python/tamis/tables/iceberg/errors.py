"""Why a snapshot of an Iceberg table is not read here."""

from __future__ import annotations

from enum import StrEnum

from tamis.tables.unreadable import SnapshotUnreadable

__all__ = ["SnapshotUnreadable", "UnreadableCode"]


class UnreadableCode(StrEnum):
    """Stable codes of the reasons."""

    NO_POLARS = "iceberg.needs_polars"  # the optional package polars is not installed
    FORMAT_VERSION = "iceberg.format_version"  # a format version that is not known
    NO_MANIFEST_LIST = "iceberg.no_manifest_list"  # an old snapshot without a manifest list
    ENCRYPTED = "iceberg.encrypted"  # encrypted manifests
    STORAGE = "iceberg.storage"  # the storage of the metadata cannot be reached or read
    METADATA = "iceberg.metadata"  # damaged metadata, or metadata of an unexpected form
    LOCATION = "iceberg.location"  # a location that Hadoop cannot open, or opens as another one
