"""An Airport server for tests. It sends what real servers send, in both layouts of the catalog."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import duckdb
import msgpack
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.flight as flight

SAME_SERVER = "arrow-flight-reuse-connection://?"


@dataclass
class Served:
    """A table: one stream per endpoint.

    `problem` is raised after `good_batches` of a stream, but not before `continues` is set. With `filters`, only rows that pass are
    sent; with `refuses_filters`, requests that have any fail.

    With `declares`, the server declares so many filters of each request as applied exactly. With
    `statistics`, it offers those of its rows. `rows` is the number of rows that it reports, and
    `answers`, if given, is set when the server may answer about statistics or endpoints.
    """

    parts: Sequence[pa.Table]
    schema: pa.Schema | None = None
    location: str = SAME_SERVER
    problem: str = ""
    good_batches: int = 1
    filters: bool = False
    refuses_filters: bool = False
    declares: int = 0
    statistics: bool = False
    rows: int = -1
    answers: threading.Event | None = None
    locations: Sequence[str] = ()  # of each part, instead of `location`
    continues: threading.Event | None = None

    @property
    def declared(self) -> pa.Schema:
        schema = self.parts[0].schema if self.schema is None else self.schema
        metadata = {}
        if self.declares:
            metadata["tamis.applied_exactly"] = "1"
        if self.statistics:
            metadata["can_produce_statistics"] = "1"
        return schema.with_metadata(metadata) if metadata else schema


class _Headers(flight.ServerMiddlewareFactory):
    """Refuses calls without the token, and keeps the headers of the others."""

    def __init__(self, token: str | None) -> None:
        self.token = token
        self.seen: list[dict[str, list[str]]] = []

    def start_call(self, info: Any, headers: dict[str, list[str]]) -> None:
        if self.token is not None and headers.get("authorization") != [f"Bearer {self.token}"]:
            raise flight.FlightUnauthenticatedError("wrong or no token")
        self.seen.append(headers)


@dataclass
class AirportServer:
    """The server of `serving`."""

    tables: Mapping[tuple[str, str], Served]
    uri: str = ""
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    headers: _Headers = field(default_factory=lambda: _Headers(None))
    waiting: threading.Event = field(default_factory=threading.Event)  # good batches are sent

    def endpoints(self) -> list[dict[str, Any]]:
        """Return the parameters of each request for endpoints."""
        return [r["parameters"] for name, r in self.requests if name == "endpoints"]


@contextmanager
def serving(
    tables: Mapping[tuple[str, str], Served],
    layout: str = "inline",
    token: str | None = None,
    answers: Mapping[str, bytes | Exception] | None = None,
) -> Iterator[AirportServer]:
    """Serve tables by schema and name.

    Args:
        tables: The tables.
        layout: "inline" or "shared": where the catalog has the content of schemas.
        token: The token that calls need. None: none.
        answers: Answers or errors of actions instead of the real ones.
    """
    state = AirportServer(tables, headers=_Headers(token))
    server = _FlightServer(state, layout, answers or {})
    state.uri = f"grpc://127.0.0.1:{server.port}"
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join(30)


class _FlightServer(flight.FlightServerBase):
    def __init__(
        self, state: AirportServer, layout: str, answers: Mapping[str, bytes | Exception]
    ) -> None:
        super().__init__("grpc://127.0.0.1:0", middleware={"headers": state.headers})
        self._state, self._layout, self._answers = state, layout, answers

    def do_action(self, context: Any, action: flight.Action) -> Iterator[bytes]:
        request = msgpack.unpackb(action.body.to_pybytes(), raw=False)
        self._state.requests.append((action.type, request))
        if action.type in self._answers:
            answer = self._answers[action.type]
            if isinstance(answer, Exception):
                raise answer
            yield answer
        elif action.type == "list_schemas":
            yield self._catalog()
        elif action.type == "endpoints":
            yield self._endpoints(request)
        elif action.type == "column_statistics":
            yield self._statistics(request)
        elif action.type == "flight_info":
            yield self._flight_info(*_names(request["descriptor"])).serialize()
        else:
            raise flight.FlightServerError(f"there is no action {action.type}")

    def do_get(self, context: Any, ticket: flight.Ticket) -> flight.FlightDataStream:
        schema, name, part, document = msgpack.unpackb(ticket.ticket)
        served = self._state.tables[schema, name]
        table = served.parts[part]
        if document and served.filters:
            table = filtered(table, json.loads(document))
        if not served.problem:  # a GeneratorStream cannot send dictionaries
            return flight.RecordBatchStream(table)

        def batches() -> Iterator[pa.RecordBatch]:
            yield from table.to_batches()[: served.good_batches]
            self._state.waiting.set()
            if served.continues is not None:
                served.continues.wait(60)
            raise flight.FlightServerError(served.problem)

        return flight.GeneratorStream(table.schema, batches())

    def _catalog(self) -> bytes:
        shared, schemas = [], []
        for schema in dict.fromkeys(schema for schema, _ in self._state.tables):
            names = [name for of, name in self._state.tables if of == schema]
            content = compressed(
                msgpack.packb([self._flight_info(schema, name).serialize() for name in names])
            )
            digest = hashlib.sha256(content).hexdigest()
            inline = content if self._layout == "inline" else None
            shared.append([digest, content])
            schemas.append(
                {
                    "name": schema,
                    "description": "",
                    "tags": {},
                    "contents": {"sha256": digest, "url": None, "serialized": inline},
                    "is_default": None,
                }
            )
        whole = msgpack.packb(shared)
        contents = {"sha256": "0" * 64, "url": None, "serialized": None}
        if self._layout == "shared":
            contents = {
                "sha256": hashlib.sha256(whole).hexdigest(),
                "url": None,
                "serialized": whole,
            }
        version = {"catalog_version": 1, "is_fixed": False}
        root = {"contents": contents, "schemas": schemas, "version_info": version}
        # as the extension of DuckDB does, binary data is packed as strings
        return compressed(msgpack.packb(root, use_bin_type=False))

    def _flight_info(self, schema: str, name: str) -> flight.FlightInfo:
        about = {
            "type": "table",
            "schema": schema,
            "catalog": "",
            "name": name,
            "comment": None,
            "input_schema": None,
        }
        return flight.FlightInfo(
            self._state.tables[schema, name].declared,
            flight.FlightDescriptor.for_path(schema, name),
            [],
            self._state.tables[schema, name].rows,
            -1,
            app_metadata=msgpack.packb(about),
        )

    def _endpoints(self, request: Mapping[str, Any]) -> bytes:
        schema, name = _names(request["descriptor"])
        served = self._state.tables[schema, name]
        document = request["parameters"]["json_filters"]
        if document and served.refuses_filters:
            raise flight.FlightServerError("this filter is not understood")
        if served.answers:
            served.answers.wait(60)
        filters = json.loads(document)["filters"] if document else []
        exact = list(range(min(served.declares, len(filters))))
        about = msgpack.packb({"tamis.applied_exactly": exact}) if served.declares else b""
        endpoints = [
            flight.FlightEndpoint(
                msgpack.packb([schema, name, part, document]),
                [served.locations[part] if served.locations else served.location],
                None,
                about,
            )
            for part in range(len(served.parts))
        ]
        packed: bytes = msgpack.packb([each.serialize() for each in endpoints])
        return packed

    def _statistics(self, request: Mapping[str, Any]) -> bytes:
        schema, name = _names(request["flight_descriptor"])
        served = self._state.tables[schema, name]
        if served.answers:
            served.answers.wait(60)
        column = pa.concat_tables(served.parts)[request["column_name"]]
        if not served.statistics or column.null_count == len(column):
            raise flight.FlightServerError("there are no statistics")
        ends = pc.min_max(column)
        return stream_of(
            {
                "has_not_null": pa.array([True]),
                "has_null": pa.array([column.null_count > 0]),
                "distinct_count": pa.array([pc.count_distinct(column).as_py()], pa.uint64()),
                "min": pa.array([ends["min"]], column.type),
                "max": pa.array([ends["max"]], column.type),
            }
        )


def parquet(uri: str) -> str:
    """Return the location of a Parquet file."""
    document = base64.b64encode(msgpack.packb({"format": "parquet", "uri": uri})).decode()
    return f"data:application/msgpack;base64,{document}"


def read_parquet(files: str | list[str], **named: object) -> str:
    """Return the location that calls DuckDB's function."""
    arguments = pa.Table.from_pylist([{"arg_0": files, **named}])
    call = {
        "function_name": "read_parquet",
        "data": stream_of(dict(zip(arguments.column_names, arguments.columns, strict=True))),
    }
    document = base64.b64encode(msgpack.packb(call)).decode()
    return f"data:application/x-msgpack-duckdb-function-call;base64,{document}"


def stream_of(columns: Mapping[str, pa.Array]) -> bytes:
    """Return an Arrow stream of these columns."""
    table = pa.table(dict(columns))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def filtered(table: pa.Table, document: Mapping[str, Any]) -> pa.Table:
    """Return the rows that pass in DuckDB, which evaluates the document as SQL."""
    names = document["column_binding_names_by_index"]
    condition = " AND ".join(f"({_sql(each, names)})" for each in document["filters"])
    with duckdb.connect() as connection:
        connection.register("rows_of_part", table)
        query = f"SELECT * FROM rows_of_part WHERE {condition}"
        return connection.sql(query).to_arrow_table().cast(table.schema)


_OPERATORS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}


def _sql(node: Mapping[str, Any], names: Sequence[str]) -> str:
    def of(each: Mapping[str, Any]) -> str:
        return _sql(each, names)

    match node["type"]:
        case "BOUND_COLUMN_REF":
            return f'"{names[node["binding"]["column_index"]]}"'
        case "VALUE_CONSTANT":
            return _constant(node["value"])
        case "CONJUNCTION_AND" | "CONJUNCTION_OR" as kind:
            return kind.removeprefix("CONJUNCTION_").join(f" ({of(c)}) " for c in node["children"])
        case "COMPARE_IN" | "COMPARE_NOT_IN" as kind:
            value, *options = map(of, node["children"])
            return f"{value} {'NOT ' if 'NOT' in kind else ''}IN ({', '.join(options)})"
        case "OPERATOR_IS_NULL" | "OPERATOR_IS_NOT_NULL" as kind:
            return f"{of(node['children'][0])} {kind.removeprefix('OPERATOR_').replace('_', ' ')}"
        case "BOUND_FUNCTION":
            return f"{node['name']}({', '.join(map(of, node['children']))})"
        case kind:
            return f"{of(node['left'])} {_OPERATORS[kind]} {of(node['right'])}"


def _constant(value: Mapping[str, Any]) -> str:
    name, content = value["type"]["id"], value["value"]
    match name:
        case "VARCHAR":
            return "'" + content.replace("'", "''") + "'"
        case "DATE":
            return f"(DATE '1970-01-01' + CAST({content} AS INTEGER))"
        case "TIMESTAMP":
            return f"make_timestamp(CAST({content} AS BIGINT))"
        case _:
            return f"CAST({content} AS {name})"


def _names(descriptor: bytes) -> tuple[str, str]:
    schema, name = flight.FlightDescriptor.deserialize(descriptor).path
    return schema.decode(), name.decode()


def compressed(content: bytes) -> bytes:
    """Return the content as `[length, zstd bytes]`."""
    packed: bytes = msgpack.packb([len(content), pa.compress(content, codec="zstd", asbytes=True)])
    return packed
