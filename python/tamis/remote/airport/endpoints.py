"""The parts of a table that an Airport server offers for a query.

A server may declare the filters that it has applied exactly: each FlightEndpoint then has an
`app_metadata`, a msgpack map in which `tamis.applied_exactly` is an array of positions in the
filters of the document that was sent. The client requests endpoints for this purpose only if the
metadata of the table's schema has a `tamis.applied_exactly` that is not empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa
import pyarrow.flight as flight

from tamis.remote.airport.messages import binaries, unpacked

__all__ = ["DECLARED", "declares", "exact_filters", "read_endpoints"]

#: The key of the declaration.
DECLARED: Final = b"tamis.applied_exactly"


def declares(schema: pa.Schema) -> bool:
    """Return whether the server declares filters of this table as applied exactly."""
    return bool((schema.metadata or {}).get(DECLARED))


def read_endpoints(answer: bytes) -> list[flight.FlightEndpoint]:
    """Read the answer to `endpoints`.

    Raises:
        MalformedAnswer: It is not an array of serialized endpoints.
        pyarrow.ArrowException: A serialized endpoint cannot be read.
    """
    what = "the answer to endpoints"
    parts = binaries(unpacked(answer, what), what)
    return [flight.FlightEndpoint.deserialize(each) for each in parts]


def exact_filters(endpoints: Iterable[flight.FlightEndpoint], count: int) -> frozenset[int]:
    """Return the positions of the filters that every endpoint declares as applied exactly.

    Metadata of another form is that of another protocol, and declares nothing.

    Args:
        endpoints: The parts of a table. If there are none, no row is returned, so every filter has
            been applied exactly.
        count: The number of filters that were sent.
    """
    exact = frozenset(range(count))
    for endpoint in endpoints:
        exact &= _declared(endpoint.app_metadata)
    return exact


def _declared(metadata: bytes) -> frozenset[int]:
    try:
        fields = unpacked(metadata, "the metadata of an endpoint") if metadata else {}
    except ValueError:
        return frozenset()
    places = fields.get(DECLARED) if isinstance(fields, dict) else None
    if not isinstance(places, list) or not all(type(each) is int for each in places):
        return frozenset()
    return frozenset(places)
