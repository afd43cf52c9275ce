"""The tables as clients list them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.flight as flight

from tamis.publish.airport.messages import compressed, packed
from tamis.publish.pruning import Snapshot

__all__ = [
    "APPLIED_EXACTLY",
    "CatalogVersions",
    "catalog_answer",
    "flight_info",
    "published_schema",
]

#: The key of the declaration of exact filters, in endpoints. In the metadata of a schema it says
#: that there are such declarations.
APPLIED_EXACTLY: Final = "tamis.applied_exactly"
#: The types of columns whose statistics DuckDB reads or ignores. For the others its
#: extension fails.
_WITH_STATISTICS: Final = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_float32,
    pa.types.is_float64,
    pa.types.is_string,
    pa.types.is_binary,
    pa.types.is_date32,
    pa.types.is_decimal128,
    pa.types.is_nested,
)
_UNITS: Final = ("s", "ms", "us")


def catalog_answer(schema: str, infos: Iterable[flight.FlightInfo], version: int) -> bytes:
    """Return the answer of `list_schemas`: one schema, with its tables inside."""
    content = compressed(packed([each.serialize() for each in infos]))
    digest = hashlib.sha256(content).hexdigest()
    entry = {
        "name": schema,
        "description": "",
        "tags": {},
        "contents": {"sha256": digest, "url": None, "serialized": content},
        "is_default": True,
    }
    root = {
        "contents": {"sha256": "0" * 64, "url": None, "serialized": None},
        "schemas": [entry],
        "version_info": {"catalog_version": version, "is_fixed": False},
    }
    return compressed(packed(root))


def flight_info(
    catalog: str,
    schema: str,
    name: str,
    snapshot: Snapshot,
    endpoints: Iterable[flight.FlightEndpoint] = (),
    *,
    has_statistics: bool = True,
) -> flight.FlightInfo:
    """Return a table with its columns and number of rows.

    Args:
        catalog: The name by which the client knows the catalog.
        schema: The schema.
        name: The name of the table.
        snapshot: Its files.
        endpoints: How to read it.
        has_statistics: Whether clients may ask for statistics. A request for statistics does not
            name a time, so they would be those of another version.
    """
    about: Mapping[str, Any] = {
        "type": "table",
        "schema": schema,
        "catalog": catalog,
        "name": name,
        "comment": None,
        "input_schema": None,
        "action_name": None,
        "description": None,
        "extra_data": None,
    }
    return flight.FlightInfo(
        published_schema(snapshot.schema, has_statistics=has_statistics),
        flight.FlightDescriptor.for_path(schema, name),
        list(endpoints),
        -1 if snapshot.rows is None else snapshot.rows,
        -1,
        app_metadata=packed(about),
    )


class CatalogVersions:
    """Numbers the states of the catalog. A restarted server continues with greater numbers."""

    def __init__(self) -> None:
        self._version = int(time.time() * 1000)
        self._digests: tuple[bytes, ...] = ()

    def of(self, digests: tuple[bytes, ...]) -> int:
        """Return the version of a catalog whose tables have schemas with these digests."""
        if digests != self._digests:
            self._version, self._digests = self._version + 1, digests
        return self._version


def published_schema(schema: pa.Schema, *, has_statistics: bool = True) -> pa.Schema:
    """Return a schema that says that filters are declared, and whether there are statistics.

    >>> published_schema(pa.schema({"a": pa.int8()})).metadata
    {b'tamis.applied_exactly': b'1', b'can_produce_statistics': b'1'}
    >>> published_schema(pa.schema({"a": pa.duration("s")})).metadata
    {b'tamis.applied_exactly': b'1'}
    """
    metadata = {APPLIED_EXACTLY: "1"}
    if has_statistics and all(_has_statistics(field.type) for field in schema):
        metadata["can_produce_statistics"] = "1"
    return schema.with_metadata(metadata)


def _has_statistics(data_type: Any) -> bool:
    if isinstance(data_type, pa.BaseExtensionType):
        return str(data_type.extension_name) in ("arrow.uuid", "arrow.json")
    if pa.types.is_timestamp(data_type):
        return data_type.unit in _UNITS or data_type.tz is None
    return any(is_type(data_type) for is_type in _WITH_STATISTICS)
