"""The wire format of a snapshot of an Iceberg table."""

from __future__ import annotations

from typing import Final

import msgspec

from tamis.wire.file_sets import Kept

__all__ = ["FORMAT_VERSIONS", "IcebergSnapshot", "unknown_version"]

#: The versions of Iceberg's format whose metadata is read.
FORMAT_VERSIONS: Final = (1, 2, 3)


def unknown_version(format_version: int) -> str | None:
    """Return why the metadata of a table of this version is not read; None: it is."""
    if format_version in FORMAT_VERSIONS:
        return None
    known = f"{FORMAT_VERSIONS[0]} to {FORMAT_VERSIONS[-1]}"
    return f"the table has the Iceberg format version {format_version}; versions {known} are read"


class IcebergSnapshot(msgspec.Struct, frozen=True):
    """A snapshot of an Iceberg table, and how to read it.

    - `format_version`: the format version of the table.
    - `snapshot_id`: null if the table has no snapshot.
    - `manifest_list`: the location of the manifest list, as Iceberg writes it. Null if the table
      has no snapshot, or if its snapshot (of version 1) has no manifest list.
    - `schema`: Iceberg's JSON of the schema to read with.
    - `specs`: Iceberg's JSON of every partition spec of the table.
    - `table_uuid`: distinguishes the table from others at the same place; null for old tables.
    - `name_mapping`: the property `schema.name-mapping.default` of the table.
    - `manifests`: the data manifests that are read, by their ordinals among those of the manifest
      list; null: all of them.
    """

    format_version: int
    snapshot_id: int | None
    manifest_list: str | None
    schema: str
    specs: list[str]
    name_mapping: str | None = None
    table_uuid: str | None = None
    manifests: Kept | None = None
