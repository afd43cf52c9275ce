"""Why a snapshot of an Iceberg table is not read here."""

from __future__ import annotations

from enum import StrEnum

from tamis.tables.unreadable import SnapshotUnreadable

__all__ = ["SnapshotUnreadable", "UnreadableCode"]


class UnreadableCode(StrEnum):
    """Stable codes of the reasons."""

    NO_POLARS = "ICEBERG_NEEDS_POLARS"  # the optional package polars is not installed
    FORMAT_VERSION = "ICEBERG_FORMAT_VERSION"  # a format version that is not known
    NO_MANIFEST_LIST = "ICEBERG_NO_MANIFEST_LIST"  # an old snapshot without a manifest list
    ENCRYPTED = "ICEBERG_ENCRYPTED"  # encrypted manifests
    STORAGE = "ICEBERG_STORAGE"  # the storage of the metadata cannot be reached or read
    METADATA = "ICEBERG_METADATA"  # damaged metadata, or metadata of an unexpected form
    LOCATION = "ICEBERG_LOCATION"  # a location that Hadoop cannot open, or opens as another one
