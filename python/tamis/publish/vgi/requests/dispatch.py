"""From a request to an answer, independent of the transport."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from tamis.publish.vgi.catalog import Catalog
from tamis.publish.vgi.refusals import Refused, error_of
from tamis.publish.vgi.requests.function_calls import Calls
from tamis.publish.vgi.requests.reflection import VERSION, describe, list_protocols
from tamis.publish.vgi.requests.scan_batches import Scan
from tamis.remote.vgi.protocol import framing, records
from tamis.remote.vgi.protocol.framing import MalformedMessage, Part, stream_bytes
from tamis.remote.vgi.protocol.methods import METHODS, NOTHING, REFLECTION_METHODS, Method
from tamis.remote.vgi.protocol.record import single_row

__all__ = ["TRANSPORT_OPTIONS", "Answer", "Dispatcher", "empty_batch", "error_body", "only_request"]

TRANSPORT_OPTIONS: Final = "__transport_options__"
_SERVER_ID: Final = {b"vgi_rpc.server_id": b"tamis"}

#: Versions whose records for reading are the same: 2.0.x to 2.2.x.
_VERSION: Final = re.compile(r"2\.[012]\.\d+")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request.

    - `body`: a complete stream; for a scan that of its header.
    - `scan`: the scan that follows.
    - `problem`: why the request was not carried out, None if it was. `kind` of an error of the
      protocol, which HTTP reports with a status.
    """

    body: bytes
    scan: Scan | None = None
    problem: Exception | None = None

    @property
    def kind(self) -> str:
        return self.problem.kind if isinstance(self.problem, Refused) else ""


def only_request(parts: Sequence[Part]) -> Part:
    """Return the only batch of the stream of a request.

    Raises:
        MalformedMessage: The stream does not have one batch.
    """
    if len(parts) != 1:
        raise MalformedMessage(f"a request has {len(parts)} batches instead of one")
    return parts[0]


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch without rows, which carries metadata."""
    columns = [pa.array([], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def error_body(error: Exception, schema: pa.Schema = NOTHING) -> bytes:
    """Return the stream that reports an error."""
    return stream_bytes(empty_batch(schema), {**error_of(error), **_SERVER_ID})


class Dispatcher:
    """Answers requests. Thread-safe, as the functions of the catalog are.

    Args:
        catalog: What the worker offers.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog, self._calls = catalog, Calls(catalog)
        self._methods = self._handlers()

    def answer(self, request: Part) -> Answer:
        """Return the answer to a request. Never raises: an error is an answer."""
        schema = NOTHING
        try:
            method, parameters = self._addressed(request)
            if method == TRANSPORT_OPTIONS:
                metadata = {b"vgi_rpc.transport.shm": b"false", b"vgi_rpc.request_version": b"1"}
                return Answer(stream_bytes(framing.EMPTY, {**metadata, **_SERVER_ID}))
            if method == "init":
                scan = self._calls.open_scan(parameters["request"])
                header = records.SCAN_HEADER.pack(execution_id=b"tamis", max_workers=1)
                return Answer(header, scan)
            schema = _declared(request, method).result or NOTHING
            return Answer(_result(self._methods[method](parameters), schema))
        except Exception as problem:  # whatever is wrong with one request, the next is answered
            return Answer(error_body(problem, schema), problem=problem)

    def _addressed(self, request: Part) -> tuple[str, Mapping[str, Any]]:
        """Return the method of a request and its parameters."""
        method = _text(request, framing.METHOD)
        if not method:
            raise Refused("the request names no method", kind="protocol_not_specified")
        if _text(request, framing.REQUEST_VERSION) not in ("", "1"):
            raise Refused("the version of the framing is not 1", "FAILED_PRECONDITION")
        if method == TRANSPORT_OPTIONS:
            return method, {}
        declared = _declared(request, method)
        unknown = set(request.batch.schema.names) - set(declared.parameters.names)
        if unknown:
            raise Refused(f"{method} has no parameter {min(unknown)[:60]!r}")
        if not len(declared.parameters):
            return method, {}
        return method, single_row(declared.parameters, request.batch, method)

    def _handlers(self) -> Mapping[str, Callable[[Mapping[str, Any]], bytes | None]]:
        catalog, calls = self._catalog, self._calls
        return {
            "list_protocols": lambda _: list_protocols(),
            "describe": lambda p: describe(p["protocol"]),
            "bind": lambda p: calls.bind(p["request"]),
            "table_function_plan": lambda p: calls.plan(p["request"]),
            "table_function_cardinality": lambda p: calls.cardinality(p["request"]),
            "table_function_statistics": lambda p: calls.statistics(p["request"]),
            "catalog_catalogs": lambda _: catalog.catalogs(),
            "catalog_attach": lambda p: catalog.attach(p["request"]),
            "catalog_detach": lambda _: None,
            "catalog_version": lambda _: catalog.version(),
            "catalog_schemas": lambda _: catalog.schemas(),
            "catalog_schema_get": lambda p: catalog.schema_get(p["path"]),
            "catalog_schema_contents_functions": lambda p: catalog.contents_functions(
                p["path"], p["type"]
            ),
            "catalog_schema_contents_tables": lambda p: catalog.contents_tables(p["path"]),
            "catalog_schema_contents_views": lambda _: catalog.nothing(),
            "catalog_schema_contents_macros": lambda _: catalog.nothing(),
            "catalog_schema_contents_indexes": lambda _: catalog.nothing(),
            "catalog_table_get": lambda p: catalog.table_get(*_table(p)),
            "catalog_table_scan_function_get": lambda p: catalog.scan_function(*_table(p)),
            "catalog_table_scan_branches_get": lambda p: catalog.scan_branches(*_table(p)),
            "catalog_table_column_statistics_get": lambda p: catalog.column_statistics(
                p["schema_path"], p["name"]
            ),
        }


def _table(parameters: Mapping[str, Any]) -> tuple[list[str], str, object]:
    at = parameters["at_unit"] or parameters["at_value"]
    return parameters["schema_path"], parameters["name"], at


def _text(request: Part, key: bytes) -> str:
    return request.metadata.get(key, b"").decode(errors="replace")


def _declared(request: Part, name: str) -> Method:
    """Return the declaration of the method of a request.

    Raises:
        Refused: The protocol, its version or the method is not known.
    """
    protocol = _text(request, framing.PROTOCOL)
    if not protocol:
        raise Refused("the request names no protocol", kind="protocol_not_specified")
    if protocol == framing.REFLECTION:
        methods = REFLECTION_METHODS
    elif protocol == framing.APPLICATION:
        version, methods = _text(request, framing.PROTOCOL_VERSION), METHODS
        if _VERSION.fullmatch(version) is None:
            raise Refused(
                f"the protocol version {version[:60]!r} is not supported\nServer: {VERSION}",
                "FAILED_PRECONDITION",
                "protocol_version_mismatch",
                "ProtocolVersionError",
            )
    else:
        raise Refused(
            f"the protocol {protocol[:60]!r} is not supported",
            "UNIMPLEMENTED",
            "protocol_not_supported",
            "ProtocolNotSupportedError",
        )
    if name not in methods:
        raise Refused(
            f"the method {name[:60]!r} is not implemented",
            "UNIMPLEMENTED",
            "method_not_implemented",
            "MethodNotImplementedError",
        )
    return methods[name]


def _result(value: bytes | None, schema: pa.Schema) -> bytes:
    if schema == NOTHING:
        return stream_bytes(framing.EMPTY)
    column = pa.array([value], pa.binary())
    return stream_bytes(pa.RecordBatch.from_arrays([column], schema=schema))
