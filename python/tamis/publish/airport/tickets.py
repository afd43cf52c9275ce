"""Tickets: what a client returns to read some parts of a table.

A ticket comes from a client, so it is signed with a key of this process: a client cannot read
another file, row group or column than the server has offered. It is msgpack, followed by its
HMAC-SHA-256.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pyarrow as pa

from tamis.publish.airport.messages import MalformedRequest
from tamis.publish.part_reader import Part
from tamis.sources.file_source import DataFile

__all__ = ["Ticket", "Tickets", "schema_digest"]

_SIGNATURE = 32  # bytes


@dataclass(frozen=True, slots=True)
class Ticket:
    """Parts of a table.

    - `table`: its name.
    - `version`: its version when the ticket was issued.
    - `schema`: the digest of its schema when the ticket was issued.
    - `columns`: the places of the columns that have values.
    - `is_complete`: whether the other columns are sent as well, as NULL.
    - `parts`: the parts.
    """

    table: str
    version: str
    schema: bytes
    columns: tuple[int, ...]
    is_complete: bool
    parts: tuple[Part, ...]


class Tickets:
    """Issues and reads the tickets of this process."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(_SIGNATURE)

    def issue(self, ticket: Ticket) -> bytes:
        """Return a ticket as clients get it.

        >>> tickets = Tickets()
        >>> ticket = Ticket(
        ...     "t", "", b"", (0,), True, (Part(DataFile("p=1/a", 9, 1), (0, 2), 5, 7),)
        ... )
        >>> tickets.read(tickets.issue(ticket)) == ticket
        True
        """
        parts = [
            [p.file.path, p.file.size, p.file.mtime_ns, p.row_groups, p.rows, p.size]
            for p in ticket.parts
        ]
        content: bytes = msgpack.packb(
            [
                ticket.table,
                ticket.version,
                ticket.schema,
                ticket.columns,
                ticket.is_complete,
                parts,
            ]
        )
        return content + self._signature(content)

    def read(self, signed: bytes) -> Ticket:
        """Return the content of a ticket.

        Raises:
            MalformedRequest: This process has not issued it.
        """
        content, signature = signed[:-_SIGNATURE], signed[-_SIGNATURE:]
        if not hmac.compare_digest(signature, self._signature(content)):
            raise MalformedRequest(
                "the ticket is from another server, or from before a restart of this one: run the "
                "query again"
            )
        table, version, schema, columns, is_complete, parts = msgpack.unpackb(content)
        return Ticket(table, version, schema, tuple(columns), is_complete, tuple(map(_part, parts)))

    def _signature(self, content: bytes) -> bytes:
        return hmac.digest(self._key, content, "sha256")


def _part(fields: Sequence[Any]) -> Part:
    path, size, mtime_ns, groups, rows, read = fields
    row_groups = None if groups is None else tuple(groups)
    return Part(DataFile(path, size, mtime_ns), row_groups, rows, read)


def schema_digest(schema: pa.Schema) -> bytes:
    """Return a digest of the names and types of a schema."""
    return hashlib.sha256(schema.serialize().to_pybytes()).digest()[:8]
