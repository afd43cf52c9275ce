"""The Flight server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.flight as flight

from tamis.errors import some_of
from tamis.publish.airport.access import HEADERS, Access, Headers, HeadersFactory
from tamis.publish.airport.catalog import (
    CatalogVersions,
    catalog_answer,
    flight_info,
)
from tamis.publish.airport.column_statistics import statistics_answer
from tamis.publish.airport.endpoints import endpoints_of
from tamis.publish.airport.messages import MalformedRequest, Request, packed, read_request
from tamis.publish.airport.refusals import refusals
from tamis.publish.airport.tickets import Ticket, Tickets, schema_digest
from tamis.publish.airport.transactions import Transactions
from tamis.publish.column_facts import column_facts
from tamis.publish.errors import PublishError
from tamis.publish.pruning import Snapshot, exact_filters
from tamis.publish.tables import PublishedTable
from tamis.sources.file_source import Moment
from tamis.wire.duckdb import from_duckdb

__all__ = ["AirportServer"]

_SHOWN: Final = 10  # names that an error lists
_EVERYONE: Final = Access()
_NO_HEADERS: Final = Headers({})


class AirportServer(flight.FlightServerBase):  # type: ignore[misc]
    """Serves tables. It listens as soon as it exists.

    Args:
        location: Where to listen, such as `grpc://127.0.0.1:8815`; port 0 selects a free one.
        tables: The tables by name.
        schema: The name of their schema.
        access: Who may read.
        with_locations: Whether clients read files themselves where they can.
    """

    def __init__(
        self,
        location: str,
        tables: Mapping[str, PublishedTable],
        schema: str = "main",
        access: Access = _EVERYONE,
        *,
        with_locations: bool = False,
    ) -> None:
        self._tables = dict(tables)
        self._schema = schema
        self._with_locations = with_locations
        self._tickets = Tickets()
        self._transactions = Transactions()
        self._versions = CatalogVersions()
        self._actions: dict[str, Callable[[Request, Headers], bytes]] = {
            "create_transaction": self._create_transaction,
            "catalog_version": self._catalog_version,
            "list_schemas": self._list_schemas,
            "flight_info": self._flight_info,
            "endpoints": self._endpoints,
            "column_statistics": self._column_statistics,
        }
        tls: Sequence[tuple[bytes, bytes]] | None = None
        if access.certificate is not None and access.key is not None:
            tls = [(access.certificate, access.key)]
        middleware = {HEADERS: HeadersFactory(access.token)}
        super().__init__(location, tls_certificates=tls, middleware=middleware)

    # --- Flight ---------------------------------------------------------------------------------

    def list_actions(self, context: Any) -> list[tuple[str, str]]:
        return [(name, "see the protocol of Airport") for name in self._actions]

    def do_action(self, context: Any, action: flight.Action) -> list[bytes]:
        with refusals():
            answer = self._actions.get(action.type)
            if answer is None:
                raise MalformedRequest(f"this server has no action {action.type}")
            request = read_request(action.body.to_pybytes(), action.type)
            return [answer(request, _headers(context))]

    def get_flight_info(self, context: Any, descriptor: Any) -> flight.FlightInfo:
        with refusals():
            name = self._name(descriptor)
            headers = _headers(context)
            snapshot = self._snapshot(name, headers)
            everything = self._scan(name, snapshot, "", None, headers)
            return flight_info("", self._schema, name, snapshot, everything)

    def list_flights(self, context: Any, criteria: bytes) -> Iterator[flight.FlightInfo]:
        with refusals():
            yield from self._infos("", _headers(context))

    def do_get(self, context: Any, ticket: flight.Ticket) -> flight.FlightDataStream:
        with refusals():
            read = self._tickets.read(ticket.ticket)
            # not that of the transaction, which may have ended: the files of a directory are
            # checked one by one, and other tables have versions
            snapshot = self._table(read.table).at(read.version)
            if schema_digest(snapshot.schema) != read.schema:
                raise PublishError(f"the columns of {read.table} have changed: run the query again")
            columns = [snapshot.schema.field(place) for place in read.columns]
            sent = snapshot.schema if read.is_complete else pa.schema(columns)
            return flight.GeneratorStream(sent, _rows(snapshot, read, [c.name for c in columns]))

    # --- actions --------------------------------------------------------------------------------

    def _create_transaction(self, request: Request, headers: Headers) -> bytes:
        return packed({"identifier": self._transactions.begin()})

    def _catalog_version(self, request: Request, headers: Headers) -> bytes:
        return packed({"catalog_version": self._version(headers), "is_fixed": False})

    def _list_schemas(self, request: Request, headers: Headers) -> bytes:
        catalog = request.text("catalog_name")
        infos = self._infos(catalog, headers)
        return catalog_answer(self._schema, infos, self._version(headers))

    def _flight_info(self, request: Request, headers: Headers) -> bytes:
        moment = _moment(request)
        name = self._named(request.binary("descriptor"))
        snapshot = self._snapshot(name, headers, moment)
        info = flight_info("", self._schema, name, snapshot, has_statistics=moment is None)
        serialized: bytes = info.serialize()
        return serialized

    def _endpoints(self, request: Request, headers: Headers) -> bytes:
        parameters = request.request("parameters")
        moment = _moment(parameters)
        if parameters.binary("table_function_parameters"):
            raise MalformedRequest("this server has no table functions")
        name = self._named(request.binary("descriptor"))
        snapshot = self._snapshot(name, headers, moment)
        document = parameters.binary("json_filters").decode(errors="replace")
        columns = parameters.numbers("column_ids")
        endpoints = self._scan(name, snapshot, document, columns, headers)
        return packed([each.serialize() for each in endpoints])

    def _column_statistics(self, request: Request, headers: Headers) -> bytes:
        name = self._named(request.binary("flight_descriptor"))
        snapshot = self._snapshot(name, headers)
        column = request.text("column_name")
        if column not in snapshot.schema.names:
            raise MalformedRequest(f"{name} has no column {column}")
        field = snapshot.schema.field(column)
        facts = column_facts(snapshot.statistics, field)
        return statistics_answer(facts, field.type, is_duckdb=headers.is_duckdb)

    # --- tables ---------------------------------------------------------------------------------

    def _scan(
        self,
        name: str,
        snapshot: Snapshot,
        document: str,
        columns: Sequence[int] | None,
        headers: Headers,
    ) -> list[flight.FlightEndpoint]:
        filters = from_duckdb(document, snapshot.schema) if document else []
        parts = snapshot.surviving(filters, whole_files=self._with_locations)
        count = len(snapshot.schema)
        places = range(count) if columns is None else sorted({c for c in columns if 0 <= c < count})
        if headers.is_tamis and not places:
            places = range(1)  # the rows are counted
        digest = schema_digest(snapshot.schema)
        ticket = Ticket(name, snapshot.version, digest, tuple(places), not headers.is_tamis, ())
        return endpoints_of(
            snapshot,
            parts,
            ticket,
            self._tickets,
            exact_filters(parts, len(filters)),
            with_locations=self._with_locations,
        )

    def _named(self, descriptor: bytes) -> str:
        try:
            return self._name(flight.FlightDescriptor.deserialize(descriptor))
        except pa.ArrowException as problem:
            raise MalformedRequest("the descriptor is malformed") from problem

    def _name(self, descriptor: flight.FlightDescriptor) -> str:
        match descriptor.path:
            case [schema, name] if schema == self._schema.encode():
                return bytes(name).decode(errors="replace")
        raise MalformedRequest("the descriptor does not name a table of this server")

    def _table(self, name: str) -> PublishedTable:
        table = self._tables.get(name)
        if table is None:
            known = some_of(sorted(self._tables), _SHOWN)
            raise MalformedRequest(f"there is no table {name}. The tables are {known}")
        return table

    def _snapshot(self, name: str, headers: Headers, moment: Moment | None = None) -> Snapshot:
        table = self._table(name)
        return self._transactions.snapshot(headers.identifiers, name, table, moment)

    def _infos(self, catalog: str, headers: Headers) -> Iterator[flight.FlightInfo]:
        for name in self._tables:
            yield flight_info(catalog, self._schema, name, self._snapshot(name, headers))

    def _version(self, headers: Headers) -> int:
        schemas = [self._snapshot(name, headers).schema for name in self._tables]
        return self._versions.of(tuple(map(schema_digest, schemas)))


def _rows(snapshot: Snapshot, ticket: Ticket, columns: list[str]) -> Iterator[pa.RecordBatch]:
    with refusals():
        for part in ticket.parts:
            yield from snapshot.reader.batches(part, columns, with_others=ticket.is_complete)


def _moment(request: Request) -> Moment | None:
    """Return the time that a request names."""
    unit, value = request.text("at_unit").upper(), request.text("at_value")
    if not unit and not value:
        return None
    if unit not in ("VERSION", "TIMESTAMP") or not value:
        raise MalformedRequest("at_unit is not VERSION or TIMESTAMP, or at_value is empty")
    return Moment(unit, value)


def _headers(context: Any) -> Headers:
    headers = context.get_middleware(HEADERS)
    return headers if isinstance(headers, Headers) else _NO_HEADERS
