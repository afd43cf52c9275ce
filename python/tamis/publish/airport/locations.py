"""Locations of files that clients read themselves.

    data:application/msgpack;base64,<{"format": "parquet", "uri": "/data/orders/a.parquet"}>

A client matches the columns of such a file by name, and fails if a type differs from that of the
table. So only files that have the published types are offered, and none that has partition values
in its path, even above the folder of the table, because DuckDB reads columns from such folders.
DuckDB expands patterns, so the path must not look like one.
"""

from __future__ import annotations

import base64
import re
from typing import Final

from tamis.publish.airport.messages import packed
from tamis.publish.part_reader import Part
from tamis.publish.pruning import Snapshot

__all__ = ["location_of"]

_PLAIN: Final = re.compile(r"[\w./:@+,=~ -]+")


def location_of(snapshot: Snapshot, part: Part) -> str | None:
    """Return the location of the file of a part. None: clients cannot read it as published."""
    uri = snapshot.reader.uri_of(part.file)
    footer = snapshot.footer_of(part)
    if not snapshot.reader.is_complete(part.file) or not footer.is_plain:
        return None
    if uri is None or _PLAIN.fullmatch(uri) is None or "=" in uri.rpartition("/")[0]:
        return None
    types = {field.name: field.type for field in snapshot.schema}
    if any(types.get(field.name) != field.type for field in footer.schema):
        return None
    content = packed({"format": "parquet", "uri": uri})
    return "data:application/msgpack;base64," + base64.b64encode(content).decode()
