"""The tables that an Airport server lists.

    list_schemas -> compressed {contents, schemas: [{name, contents}, …]}
    contents     =  {sha256, url, serialized}

The content of a schema is compressed as well: an array of serialized FlightInfos. Servers send it
in one of two ways: inside the schema, or in the contents of the catalog, which is an array of pairs
of digest and content.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.flight as flight

from tamis.errors import some_of
from tamis.remote.airport.connection import Connection
from tamis.remote.airport.messages import (
    MalformedAnswer,
    Message,
    binaries,
    decompressed,
    unpacked,
    verified,
)

__all__ = ["AirportTable", "find_table", "known_rows"]

_SHOWN = 10  # names that an error lists


@dataclass(frozen=True, slots=True)
class AirportTable:
    """A table of a server.

    The descriptor identifies it to the server, and has no other meaning. `rows` is the number of
    rows, if the server knows it.
    """

    descriptor: flight.FlightDescriptor
    schema: pa.Schema
    rows: int | None = None


def find_table(connection: Connection, schema: str, table: str) -> AirportTable:
    """Return a table of the catalog.

    Raises:
        RemoteError: The server has no such table, or its catalog cannot be read.
    """
    label, step = f"{schema}.{table}", "list_schemas"

    def read(answer: bytes) -> tuple[list[str], dict[str, AirportTable] | None]:
        schemas = _schemas(answer)
        return sorted(schemas), _tables(schemas[schema]) if schema in schemas else None

    schemas, tables = connection.ask(step, {"catalog_name": connection.catalog}, label, read)
    if tables is None:
        known = some_of(schemas, _SHOWN)
        raise connection.error(step, f"there is no schema {schema}. The schemas are {known}", label)
    if table not in tables:
        known = some_of(sorted(tables), _SHOWN)
        raise connection.error(step, f"there is no such table. The tables are {known}", label)
    return tables[table]


def known_rows(info: flight.FlightInfo) -> int | None:
    """Return the number of rows of a table; None if the server does not know it."""
    return info.total_records if info.total_records >= 0 else None


def _schemas(answer: bytes) -> dict[str, bytes | None]:
    """Return the content of each schema; None if the server keeps it at a URL."""
    root = Message(unpacked(decompressed(answer, "the catalog"), "the catalog"), "the catalog")
    shared: dict[str, bytes] = {}
    contents = root.message("contents")
    if whole := contents.binary("serialized"):
        whole = verified(whole, contents.text("sha256"), "the catalog")
        pairs = unpacked(whole, "the contents of the catalog")
        for pair in pairs if isinstance(pairs, list) else [pairs]:
            digest, content = binaries(pair, "an entry of the catalog")
            shared[digest.decode()] = content
    schemas = {}
    for each in root.messages("schemas"):
        own = each.message("contents")
        digest_text = own.text("sha256")
        content = own.binary("serialized") or shared.get(digest_text, b"")
        name = each.text("name")
        schemas[name] = verified(content, digest_text, f"the schema {name}") if content else None
    return schemas


def _tables(content: bytes | None) -> dict[str, AirportTable]:
    if content is None:
        raise MalformedAnswer("the server keeps this schema at a URL, which tamis does not fetch")
    tables = {}
    what = "the list of tables of the schema"
    for serialized in binaries(unpacked(decompressed(content, what), what), what):
        info = flight.FlightInfo.deserialize(serialized)
        if not info.app_metadata:
            continue
        about = Message(unpacked(info.app_metadata, "the metadata of a table"), "the metadata")
        if about.text("type") == "table":
            tables[about.text("name")] = AirportTable(
                info.descriptor, info.schema, known_rows(info)
            )
    return tables
