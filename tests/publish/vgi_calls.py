"""Requests as VGI clients write them, and an HTTP client that sends them."""

from __future__ import annotations

import http.client
import io
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from tamis.publish.vgi.catalog import Catalog
from tamis.publish.vgi.requests.dispatch import Dispatcher
from tamis.publish.vgi.transports.bodies import Limits
from tamis.publish.vgi.transports.http import Server
from tamis.publish.vgi.transports.tokens import Tokens
from tamis.remote.vgi.protocol import framing, records
from tamis.remote.vgi.protocol.framing import CURSOR, Part, Stream, request_metadata, stream_bytes
from tamis.remote.vgi.protocol.methods import METHODS, REFLECTION_METHODS
from tamis.remote.vgi.protocol.record import row_of

ARROW = "application/vnd.apache.arrow.stream"


def request(method: str, metadata: Mapping[bytes, bytes] | None = None, **values: Any) -> bytes:
    """Return a request of a method with these parameters."""
    is_reflection = method in REFLECTION_METHODS
    protocol = framing.REFLECTION if is_reflection else framing.APPLICATION
    declared = (REFLECTION_METHODS if is_reflection else METHODS)[method].parameters
    batch = row_of(declared, values)
    own = request_metadata(method, None if is_reflection else "2.2.0", protocol)
    return stream_bytes(batch, {**own, **(metadata or {})})


def arguments(positional: Sequence[Any] = (), **named: Any) -> bytes:
    values = {f"positional_{place}": each for place, each in enumerate(positional)}
    values |= {f"named_{name}": each for name, each in named.items()}
    return stream_bytes(pa.record_batch({"args": pa.array([values])}))


def bind_call(function: str, body: bytes, **changes: Any) -> bytes:
    fields = {"function_name": function, "arguments": body, "function_type": "TABLE"}
    return records.BIND_REQUEST.pack(**{**fields, **changes})


def init(call: bytes, schema: pa.Schema, **options: Any) -> bytes:
    columns = schema.serialize().to_pybytes()
    body = records.INIT_REQUEST.pack(bind_call=call, output_schema=columns, **options)
    return request("init", request=body)


def turn(metadata: Mapping[bytes, bytes] | None = None) -> bytes:
    """Return the body of one further turn over HTTP."""
    return stream_bytes(framing.EMPTY, metadata)


def streams(body: bytes) -> list[list[Part]]:
    """Return the batches of each stream of an answer."""
    source = io.BufferedReader(io.BytesIO(body))  # type: ignore[arg-type]
    found = []
    while source.peek(1):
        found.append(list(Stream(source)))
    return found


def failure(body: bytes) -> str:
    """Return the text of the error in the first stream of an answer; empty if there is none."""
    for part in streams(body)[0]:
        if framing.kind_of(part) is framing.Kind.ERROR:
            return framing.failure_of(part).message
    return ""


def result(body: bytes) -> bytes:
    """Return the value of the result of an answer."""
    assert not failure(body)
    value: bytes = streams(body)[0][0].batch.column("result")[0].as_py()
    return value


@contextmanager
def served(
    catalog: Catalog, tokens: Sequence[str] = (), limits: Limits | None = None
) -> Iterator[Server]:
    """Serve a catalog over HTTP."""
    server = Server(("127.0.0.1", 0), Dispatcher(catalog), Tokens(tokens), limits)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Caller:
    """A connection to a server, which is kept open."""

    def __init__(self, server: Server, headers: Mapping[str, str] | None = None) -> None:
        self.connection = http.client.HTTPConnection(*server.server_address[:2], timeout=30)  # type: ignore[arg-type]
        self.headers = {"Content-Type": ARROW, **(headers or {})}

    def send(
        self, path: str, body: bytes, method: str = "POST", **headers: str
    ) -> tuple[int, bytes, Mapping[str, str]]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request(method, path, body, {**self.headers, **named})
        answer = self.connection.getresponse()
        return answer.status, answer.read(), {k.lower(): v for k, v in answer.getheaders()}

    def call(self, method: str, **values: Any) -> bytes:
        protocol = framing.REFLECTION if method in REFLECTION_METHODS else framing.APPLICATION
        status, body, _ = self.send(f"/{protocol}/{method}", request(method, **values))
        assert status == 200
        return body

    def scan(self, body: bytes, **headers: str) -> list[pa.RecordBatch]:
        """Return the batches of a scan, over as many turns as it takes."""
        _, opened, _ = self.send("/vgi.v2/init/init", body, **headers)
        assert not failure(opened), failure(opened)
        _, parts = streams(opened)
        batches = []
        while True:
            cursors = [part.metadata[CURSOR] for part in parts if CURSOR in part.metadata]
            batches += [part.batch for part in parts if CURSOR not in part.metadata]
            if not cursors:
                return batches
            _, following, _ = self.send(
                "/vgi.v2/init/exchange", turn({CURSOR: cursors[0]}), **headers
            )
            assert not failure(following), failure(following)
            (parts,) = streams(following)
