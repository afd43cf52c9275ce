"""A table of an Airport server as a remote source."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.flight as flight

from tamis.expr.nodes import Expr
from tamis.remote import masking, parquet_task
from tamis.remote.airport import flight_task
from tamis.remote.airport.catalog import AirportTable, find_table, known_rows
from tamis.remote.airport.column_statistics import column_statistics, duckdb_type
from tamis.remote.airport.combined_tasks import combined
from tamis.remote.airport.connection import Connection
from tamis.remote.airport.endpoints import declares, exact_filters, read_endpoints
from tamis.remote.airport.file_locations import file_uris, is_file_location, spark_uri
from tamis.remote.airport.flight_task import FlightTask
from tamis.remote.airport.messages import MalformedAnswer
from tamis.remote.airport.sendable_filters import filter_document, keys_filter, sendable
from tamis.remote.contract import (
    Applied,
    ColumnStatistics,
    ReadRequest,
    RemoteError,
    RemoteSource,
    TableStatistics,
)
from tamis.remote.executor import Task
from tamis.remote.file_pruning import local_path, surviving_files
from tamis.remote.parquet_task import ParquetTask

__all__ = ["AirportSource"]

_SECONDS = 60.0  # for which a table is known not to consist of files
_MOST_TABLES = 1000
_SAME_SERVER = "arrow-flight-reuse-connection:"
_REQUIRED = ("uri", "schema", "table")
_OPTIONS = (*_REQUIRED, "catalog", "token", "tlsRoots", "atUnit", "atValue")


class AirportSource(RemoteSource):
    """A table, whose server may leave out rows that do not pass the filters.

    Args:
        options: The options of `tamis.read_airport`. Keys are compared without case.

    Raises:
        RemoteError: An option is missing, unknown or malformed.
    """

    executor_modules = (flight_task, parquet_task, masking)

    def __init__(self, options: Mapping[str, str]) -> None:
        given = {key.lower(): value for key, value in options.items()}
        known = {name.lower(): name for name in _OPTIONS}
        uri = given.get("uri", "")
        missing = [name for name in _REQUIRED if not given.get(name)]
        if missing:
            raise _refused(uri, f"the option {missing[0]} is missing")
        unknown = sorted(given.keys() - known.keys() - {"path"})
        if unknown:
            raise _refused(uri, f"the option {unknown[0]} is not one of {', '.join(_OPTIONS)}")
        if bool(given.get("atunit")) != bool(given.get("atvalue")):
            raise _refused(uri, "pass both of the options atUnit and atValue, or neither")
        self._schema_name, self._table_name = given["schema"], given["table"]
        self._at = (given.get("atunit", "").upper(), given.get("atvalue", ""))
        roots = _read(uri, given["tlsroots"]) if given.get("tlsroots") else None
        self._connection = Connection(uri, given.get("catalog", ""), given.get("token"), roots)

    def schema(self) -> pa.Schema:
        schema = self._table.schema
        columns = [field for field in schema if not (field.metadata or {}).get(b"is_rowid")]
        return pa.schema(columns)

    def stream_columns(self) -> frozenset[str]:
        # with the row identifiers: servers may send all columns of a table
        return frozenset(self._table.schema.names)

    @property
    def label(self) -> str:
        return f"the table {self._label} of {self._connection.label}"

    def applied(self, filters: Sequence[Expr]) -> Sequence[Applied]:
        forms = self._forms(filters)
        sent = [form for form in forms if form is not None]
        exact: frozenset[int] = frozenset()
        if sent and declares(self._table.schema):
            try:
                exact = exact_filters(self._endpoints(self.schema().names, sent), len(sent))
            except RemoteError:
                exact = frozenset()  # the server fails on some filter
        places = iter(range(len(sent)))

        def how(form: Expr | None) -> Applied:
            if form is None:
                return Applied.IGNORED
            return Applied.EXACTLY if next(places) in exact else Applied.PARTLY

        return [how(form) for form in forms]

    def files(
        self,
        filters: Sequence[Expr],
        storage: Mapping[str, str] | None = None,
        seconds: float = math.inf,
    ) -> Sequence[str] | None:
        if _Tables.is_streamed(self._key):
            return None
        schema = self.schema()
        sent = [form for form in self._forms(filters) if form is not None]
        try:
            endpoints = self._endpoints(schema.names, sent)
        except RemoteError:
            return None  # the server fails on some filter
        try:
            uris = file_uris(endpoints, schema.names)
            if uris is None:
                _Tables.remember_streamed(self._key)
                return None
            named = [spark_uri(each) for each in uris]
            if len(set(named)) < len(named):
                # Spark's scan would read the file once
                raise MalformedAnswer("the server refers to a file twice")
            return surviving_files(named, filters, storage, seconds)
        except MalformedAnswer as error:
            raise self._connection.error("endpoints", str(error), self._label) from error

    def statistics(self, columns: Sequence[str]) -> TableStatistics:
        schema = self.schema()
        offered = (self._table.schema.metadata or {}).get(b"can_produce_statistics")
        by_column = {}
        # the request has no version, so the answer is about the newest one
        if offered and not self._at[0]:
            for name in columns:
                data_type = schema.field(name).type
                if type_name := duckdb_type(data_type):
                    by_column[name] = self._column_statistics(name, type_name, data_type)
        return TableStatistics(self._table.rows, by_column)

    def _column_statistics(self, name: str, type_name: str, data_type: Any) -> ColumnStatistics:
        request = {
            "flight_descriptor": self._table.descriptor.serialize(),
            "column_name": name,
            "type": type_name,
        }
        try:
            return self._connection.ask(
                "column_statistics",
                request,
                self._label,
                lambda answer: column_statistics(answer, data_type),
            )
        except RemoteError:
            return ColumnStatistics()  # servers fail for columns without values

    def tasks(self, request: ReadRequest) -> Sequence[Task]:
        schema = self.schema()
        keys = [keys_filter(each) for each in request.keys]
        forms = self._forms([*request.required, *request.filters, *keys])
        required, optional = forms[: len(request.required)], forms[len(request.required) :]
        must = [form for form in required if form is not None]
        sent = must + [form for form in optional if form is not None]
        try:
            endpoints = self._endpoints(request.columns, sent)
        except RemoteError:
            if not sent or required:
                raise
            # Servers fail on some filters. Without them the answer has more rows.
            endpoints = self._endpoints(request.columns, ())
        if required:
            exact = exact_filters(endpoints, len(sent))
            if len(must) < len(required) or not exact.issuperset(range(len(must))):
                raise self._connection.error(
                    "endpoints",
                    "since the query was planned, the server has withdrawn its declaration that it "
                    "applies a filter exactly",
                    self._label,
                    "Run the query again",
                )
        columns = pa.schema([schema.field(name) for name in request.columns])
        tasks = [task for each in endpoints for task in self._tasks(each, columns)]
        return combined(tasks, request.tasks)

    def _forms(self, filters: Sequence[Expr]) -> list[Expr | None]:
        """Return the form in which each conjunct of the query is sent; None for others."""
        return sendable(filters, self.schema(), orders_nan=declares(self._table.schema))

    def _endpoints(
        self, columns: Sequence[str], filters: Sequence[Expr]
    ) -> list[flight.FlightEndpoint]:
        unit, value = self._at
        parameters = {
            "json_filters": filter_document(filters, self.schema()),
            "column_ids": self._places(columns),
            "table_function_parameters": "",
            "table_function_input_schema": "",
            "at_unit": unit,
            "at_value": value,
        }
        body = {"descriptor": self._table.descriptor.serialize(), "parameters": parameters}
        return self._connection.ask("endpoints", body, self._label, read_endpoints)

    def _places(self, columns: Sequence[str]) -> list[int]:
        """Return the places by which the server knows columns; none stand for all columns.

        Some servers count the column of row identifiers, and others do not. If it precedes one of
        the columns, a server could take them for others, and send NULL for those that it leaves
        out.
        """
        named, counted = self.schema().names, self._table.schema.names
        places = [named.index(name) for name in columns]
        is_certain = all(named[place] == counted[place] for place in places)
        return places if is_certain else []

    @property
    def _key(self) -> tuple[str, ...]:
        connection = self._connection
        columns = str(self.schema())  # another server may use the address later
        return (connection.uri, connection.catalog, self._label, *self._at, columns)

    @property
    def _label(self) -> str:
        return f"{self._schema_name}.{self._table_name}"

    @cached_property
    def _table(self) -> AirportTable:
        listed = find_table(self._connection, self._schema_name, self._table_name)
        unit, value = self._at
        if not unit:
            return listed
        request = {"descriptor": listed.descriptor.serialize(), "at_unit": unit, "at_value": value}
        read = flight.FlightInfo.deserialize
        info = self._connection.ask("flight_info", request, self._label, read)
        return AirportTable(info.descriptor, info.schema, known_rows(info))

    def _tasks(self, endpoint: flight.FlightEndpoint, columns: pa.Schema) -> list[Task]:
        uri = self._connection.uri
        location = endpoint.locations[0].uri.decode() if endpoint.locations else _SAME_SERVER
        if is_file_location(location):
            return [self._file_task(each, columns) for each in self._files(endpoint)]
        if location.startswith(_SAME_SERVER):
            location = uri
        if not location.startswith("grpc"):
            what = f"tamis cannot read from the location {location.partition(',')[0][:60]}"
            raise self._connection.error("endpoints", what, self._label)
        headers = self._connection.headers_to(location)
        ticket = endpoint.ticket.ticket
        return [FlightTask(self.label, location, [ticket], headers, self._connection.roots)]

    def _files(self, endpoint: flight.FlightEndpoint) -> Sequence[str]:
        try:
            return file_uris([endpoint], self.schema().names) or ()
        except MalformedAnswer as error:
            raise self._connection.error("endpoints", str(error), self._label) from error

    def _file_task(self, uri: str, columns: pa.Schema) -> ParquetTask:
        path = local_path(uri)
        if path is None:
            _Tables.forget_streamed(self._key)
            raise self._connection.error(
                "endpoints",
                "the server refers to files that have no local path, which only Spark's own "
                "Parquet scan can read. Spark uses this scan if the session has the extension of "
                "tamis and the server refers to files for all parts of the table",
                self._label,
                "Create the session with tamis.configure",
            )
        return ParquetTask(self.label, path, columns)


class _Tables:
    """Tables whose endpoints do not refer to files. For these, `files` sends no request.

    A server may change that. Then tasks read the files, and not Spark's own scan; if tasks cannot
    read them, this query fails, and the next one sends the request again.
    """

    _streamed: ClassVar[dict[tuple[str, ...], float]] = {}

    @classmethod
    def is_streamed(cls, table: tuple[str, ...]) -> bool:
        return time.monotonic() < cls._streamed.get(table, 0)

    @classmethod
    def remember_streamed(cls, table: tuple[str, ...]) -> None:
        if len(cls._streamed) >= _MOST_TABLES:
            cls._streamed.clear()
        cls._streamed[table] = time.monotonic() + _SECONDS

    @classmethod
    def forget_streamed(cls, table: tuple[str, ...]) -> None:
        cls._streamed.pop(table, None)


def _refused(uri: str, problem: str) -> RemoteError:
    server = f"the Airport server {masking.masked(uri) or '(no uri)'}"
    return RemoteError(server, "", "reading the options", problem)


def _read(uri: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise _refused(uri, f"the file of the option tlsRoots cannot be read ({error})") from error
