"""The endpoints of a scan: groups of row groups that clients read in parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import pyarrow.flight as flight

from tamis.publish.airport.catalog import APPLIED_EXACTLY
from tamis.publish.airport.locations import location_of
from tamis.publish.airport.messages import packed
from tamis.publish.airport.tickets import Ticket, Tickets
from tamis.publish.part_reader import Part
from tamis.publish.pruning import Snapshot

__all__ = ["endpoints_of", "grouped"]

SAME_SERVER: Final = "arrow-flight-reuse-connection://?"
#: A scan gets at least this many endpoints if they have the least size.
_STREAMS: Final = 16
_LEAST_SIZE: Final = 1 << 20
_GREATEST_SIZE: Final = 1 << 26


def endpoints_of(
    snapshot: Snapshot,
    parts: Sequence[Part],
    ticket: Ticket,
    tickets: Tickets,
    exact: Sequence[int],
    *,
    with_locations: bool,
) -> list[flight.FlightEndpoint]:
    """Return the endpoints of parts.

    Args:
        snapshot: The files of the table.
        parts: The parts to read.
        ticket: A ticket for them.
        tickets: Signs tickets.
        exact: The places of the filters that all rows of the parts pass.
        with_locations: Whether to refer to files that a client can read itself. Then the parts are
            whole files.
    """
    about = packed({APPLIED_EXACTLY: list(exact)}) if exact else b""
    endpoints, others = [], list(parts)
    if with_locations:
        places = [(part, location_of(snapshot, part)) for part in parts]
        others = [part for part, location in places if location is None]
        endpoints = [
            flight.FlightEndpoint(b"", [location], app_metadata=about)
            for _, location in places
            if location is not None
        ]
    for group in grouped([piece for part in others for piece in snapshot.pieces(part)]):
        signed = tickets.issue(replace(ticket, parts=tuple(group)))
        endpoints.append(flight.FlightEndpoint(signed, [SAME_SERVER], app_metadata=about))
    return endpoints


def grouped(pieces: Sequence[Part]) -> Iterator[list[Part]]:
    """Yield groups of pieces of about one size. Row groups of one file become one part again."""
    total = sum(piece.size for piece in pieces)
    size = min(max(total // _STREAMS, _LEAST_SIZE), _GREATEST_SIZE)
    group: list[Part] = []
    filled = 0
    for piece in pieces:
        if group and filled + piece.size // 2 >= size:
            yield group
            group, filled = [], 0
        if group and group[-1].file == piece.file:
            group[-1] = _joined(group[-1], piece)
        else:
            group.append(piece)
        filled += piece.size
    if group:
        yield group


def _joined(left: Part, right: Part) -> Part:
    """Return two parts of one file as one."""
    assert left.row_groups is not None
    assert right.row_groups is not None
    rows = None if left.rows is None or right.rows is None else left.rows + right.rows
    groups = (*left.row_groups, *right.row_groups)
    return Part(left.file, groups, rows, left.size + right.size)
