"""A client that sends what DuckDB's extension sends, and a server for it in this process."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgpack
import pyarrow as pa
import pyarrow.flight as flight

from tamis.publish.airport.access import Access
from tamis.publish.airport.server import AirportServer
from tamis.publish.tables import PublishedTable

DUCKDB = "airport/20250723"
ROW_IDENTIFIER = (1 << 64) - 1
SAME_SERVER = b"arrow-flight-reuse-connection://?"


@dataclass
class Client:
    """A client of a server.

    `agent` is the header by which it says what it is.
    """

    uri: str
    agent: str = DUCKDB
    token: str | None = None
    more: Sequence[tuple[str, str]] = ()
    roots: bytes | None = None
    flight: Any = field(init=False)

    def __post_init__(self) -> None:
        tls = {} if self.roots is None else {"tls_root_certs": self.roots}
        self.flight = flight.FlightClient(self.uri, **tls)

    def options(self) -> flight.FlightCallOptions:
        headers = [("airport-user-agent", self.agent), *self.more]
        if self.token is not None:
            headers.append(("authorization", f"Bearer {self.token}"))
        return flight.FlightCallOptions(
            headers=[(name.encode(), value.encode()) for name, value in headers], timeout=60
        )

    def act(self, name: str, request: Any) -> bytes:
        """Call an action, with binary data packed as strings."""
        body = request if isinstance(request, bytes) else msgpack.packb(request, use_bin_type=False)
        (result,) = self.flight.do_action(flight.Action(name, body), self.options())
        answer: bytes = result.body.to_pybytes()
        return answer

    def schema(self, name: str) -> pa.Schema:
        info = self.flight.get_flight_info(descriptor(name), self.options())
        return info.schema

    def endpoints(
        self, name: str, document: Any = "", columns: Sequence[int] | None = None, **more: Any
    ) -> list[flight.FlightEndpoint]:
        text = document if isinstance(document, str) else json.dumps(document)
        count = len(self.schema(name)) if columns is None else 0
        parameters = {
            "json_filters": text,
            "column_ids": list(range(count) if columns is None else columns),
            "table_function_parameters": "",
            "table_function_input_schema": "",
            "at_unit": "",
            "at_value": "",
            **more,
        }
        request = {"descriptor": descriptor(name).serialize(), "parameters": parameters}
        answer = msgpack.unpackb(self.act("endpoints", request), raw=True)
        return [flight.FlightEndpoint.deserialize(each) for each in answer]

    def rows(self, endpoints: Sequence[flight.FlightEndpoint]) -> list[dict[str, Any]]:
        return [row for each in endpoints for row in self.read(each).to_pylist()]

    def read(self, endpoint: flight.FlightEndpoint) -> pa.Table:
        assert [each.uri for each in endpoint.locations] == [SAME_SERVER]
        return self.flight.do_get(endpoint.ticket, self.options()).read_all()

    def statistics(self, name: str, column: str) -> dict[str, Any]:
        answer = self.act(
            "column_statistics",
            {
                "flight_descriptor": descriptor(name).serialize(),
                "column_name": column,
                "type": "ignored",
            },
        )
        (row,) = pa.ipc.open_stream(answer).read_all().to_pylist()
        return dict(row)


def descriptor(name: str, schema: str = "main") -> flight.FlightDescriptor:
    return flight.FlightDescriptor.for_path(schema, name)


def exact(endpoints: Sequence[flight.FlightEndpoint]) -> list[int]:
    """Return the places of the filters that the endpoints declare as applied."""
    (about,) = {each.app_metadata for each in endpoints}
    return list(msgpack.unpackb(about)["tamis.applied_exactly"]) if about else []


@contextmanager
def serving(
    tables: Mapping[str, Path | str], access: Access | None = None, *, with_locations: bool = False
) -> Iterator[str]:
    """Serve directories by table name; yield the location."""
    published = {name: PublishedTable(str(path), name) for name, path in tables.items()}
    access = access or Access()
    scheme = "grpc" if access.certificate is None else "grpc+tls"
    server = AirportServer(
        f"{scheme}://127.0.0.1:0", published, access=access, with_locations=with_locations
    )
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield f"{scheme}://{'localhost' if access.key else '127.0.0.1'}:{server.port}"
    finally:
        server.shutdown()
        thread.join(30)
