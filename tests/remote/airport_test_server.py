"""The test server that the authors of Airport publish on PyPI, unmodified, with tables of ours."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgpack
import pyarrow as pa
import pyarrow.flight as flight

from tests.launch.processes import free_port, running, shell
from tests.remote.published import bin_of

#: The server fails on filters with DuckDB 2.
_PACKAGES: Final = ("query-farm-airport-test-server==0.1.1", "duckdb==1.4.5")
_CATALOG: Final = "db"
#: The only schema whose tables the server filters.
FILTERED_SCHEMA: Final = "test_predicate_pushdown"


class AirportTestServer:
    """A running server with one database, which exists for its token only."""

    def __init__(self, uri: str) -> None:
        token = uuid.uuid4().hex
        self.options = {"uri": uri, "catalog": _CATALOG, "token": token}
        self._client = flight.FlightClient(uri)
        self._headers = [(b"authorization", f"Bearer {token}".encode())]
        self._act("create_database", _CATALOG.encode())
        self._act(
            "create_schema",
            {"catalog_name": _CATALOG, "schema": FILTERED_SCHEMA, "comment": None, "tags": {}},
        )

    def create_table(self, name: str, table: pa.Table) -> dict[str, str]:
        """Create a table that the server filters, and return the options that read it."""
        self._act(
            "create_table",
            {
                "catalog_name": _CATALOG,
                "schema_name": FILTERED_SCHEMA,
                "table_name": name,
                "arrow_schema": table.schema.serialize().to_pybytes(),
                "on_conflict": "error",
                "not_null_constraints": [],
                "unique_constraints": [],
                "check_constraints": [],
                "primary_key_columns": [],
                "unique_columns": [],
                "multi_key_primary_keys": [],
                "extra_constraints": [],
            },
        )
        descriptor = flight.FlightDescriptor.for_path(f"{_CATALOG}/{FILTERED_SCHEMA}/table/{name}")
        headers = [(b"airport-operation", b"insert"), (b"return-chunks", b"0")]
        writer, reader = self._client.do_exchange(descriptor, self._options(headers))
        with writer:
            writer.begin(table.schema)
            writer.write_table(table)
            writer.done_writing()
            while True:
                try:
                    reader.read_chunk()
                except StopIteration:
                    break
        return {**self.options, "schema": FILTERED_SCHEMA, "table": name}

    def close(self) -> None:
        self._client.close()

    def _act(self, kind: str, body: bytes | dict[str, Any]) -> None:
        packed = body if isinstance(body, bytes) else msgpack.packb(body)
        list(self._client.do_action(flight.Action(kind, packed), self._options([])))

    def _options(self, headers: list[tuple[bytes, bytes]]) -> flight.FlightCallOptions:
        return flight.FlightCallOptions(headers=[*self._headers, *headers])


@contextmanager
def airport_test_server(folder: Path) -> Iterator[AirportTestServer]:
    """Run the server in a folder, where it stores its databases."""
    binary = bin_of("airport-test-server", (3, 12), _PACKAGES) / "airport_test_server"
    uri = f"grpc://127.0.0.1:{free_port()}"
    with running([str(binary), "--location", uri], folder, shell(folder)) as process:
        process.wait_for_port(int(uri.rpartition(":")[2]))
        server = AirportTestServer(uri)
        try:
            yield server
        finally:
            server.close()
