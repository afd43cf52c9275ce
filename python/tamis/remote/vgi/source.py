"""A table function, or a table of a catalog, of a VGI worker as a remote source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

import pyarrow as pa

from tamis.expr.nodes import Expr
from tamis.remote.contract import (
    Applied,
    ColumnStatistics,
    ReadRequest,
    RemoteError,
    RemoteSource,
    TableStatistics,
)
from tamis.remote.executor import Task
from tamis.remote.vgi.catalog import Catalog, Table
from tamis.remote.vgi.client import Client
from tamis.remote.vgi.executor_modules import EXECUTOR_MODULES
from tamis.remote.vgi.functions.arguments import Arguments, UnusableArguments
from tamis.remote.vgi.functions.call import Call, bound_call, chosen_function
from tamis.remote.vgi.functions.column_statistics import column_statistics
from tamis.remote.vgi.functions.function_scan import Filtering, FunctionScan
from tamis.remote.vgi.protocol.records import CARDINALITY, FUNCTION_CALL
from tamis.remote.vgi.tables.table_scan import TableScan
from tamis.remote.vgi.transports.location import is_url

__all__ = ["VgiSource"]

_OPTIONS: Final = (
    "uri", "function", "arguments", "table", "catalog", "schema", "token", "filters",
)  # fmt: skip
_ROW_IDENTIFIER: Final = b"is_row_id"


class VgiSource(RemoteSource):
    """The rows of a table function or of a table.

    Args:
        options: The options of `tamis.read_vgi`. Keys are compared without case.

    Raises:
        RemoteError: An option is missing, unknown or malformed.
    """

    executor_modules = EXECUTOR_MODULES

    def __init__(self, options: Mapping[str, str]) -> None:
        given = {key.lower(): value for key, value in options.items()}
        function, table = given.get("function", ""), given.get("table", "")
        target = f"function {function}" if function else table
        self._client = Client(given.get("uri", ""), given.get("token") or None, target)
        unknown = sorted(given.keys() - set(_OPTIONS) - {"path"})
        if unknown:
            raise self._refused(f"the option {unknown[0]} is not one of {', '.join(_OPTIONS)}")
        if not given.get("uri"):
            raise self._refused("the option uri is missing")
        if bool(function) is bool(table):
            raise self._refused("pass either the option function or the option table")
        if table and given.get("arguments"):
            raise self._refused("the option 'arguments' is for functions only")
        if given.get("token") and not is_url(given["uri"]):
            raise self._refused("the option token is for http:// and https:// only")
        try:
            self._arguments = Arguments.parse(given.get("arguments", ""))
            self._filtering = Filtering(given.get("filters", "exact").lower())
        except UnusableArguments as error:
            raise self._refused(str(error)) from error
        except ValueError as error:
            raise self._refused("the option filters must be exact, advisory or off") from error
        self._function, self._table_name = function, table
        self._catalog_name, self._schema_name = given.get("catalog", ""), given.get("schema", "")

    def _refused(self, problem: str) -> RemoteError:
        return self._client.error("reading the options", problem)

    @property
    def label(self) -> str:
        return self._client.label

    def schema(self) -> pa.Schema:
        columns = self._table.columns if self._table_name else self._call.columns
        return pa.schema([each for each in columns if _ROW_IDENTIFIER not in (each.metadata or {})])

    def applied(self, filters: Sequence[Expr]) -> Sequence[Applied]:
        return self._scan.applied(filters)

    def tasks(self, request: ReadRequest) -> Sequence[Task]:
        return self._scan.tasks(request)

    def statistics(self, columns: Sequence[str]) -> TableStatistics:
        """Return the statistics of the worker for these columns; none if it fails."""
        try:
            return TableStatistics(self._rows(), self._bounds(columns))
        except RemoteError:
            return TableStatistics()

    @cached_property
    def _catalog(self) -> Catalog:
        return Catalog(self._client, self._catalog_name, self._schema_name)

    @cached_property
    def _table(self) -> Table:
        return self._catalog.table(self._table_name)

    @cached_property
    def _call(self) -> Call:
        path = self._catalog.path
        functions = self._catalog.functions(self._function, path)
        function, arguments = chosen_function(self._client, functions, self._arguments)
        return bound_call(self._client, self._catalog, function, path, arguments)

    @cached_property
    def _scan(self) -> FunctionScan | TableScan:
        if self._table_name:
            return TableScan(self._client, self._catalog, self._table, self._filtering)
        return FunctionScan(self._client, self._call, self._filtering)

    def _rows(self) -> int | None:
        if self._table_name:
            return _count(self._table.rows)
        request = {"request": self._call_request()}
        answer = self._client.ask("table_function_cardinality", request, CARDINALITY.unpack)
        return _count(answer["estimate"] if answer["estimate"] is not None else answer["max"])

    def _bounds(self, columns: Sequence[str]) -> Mapping[str, ColumnStatistics]:
        def read(body: bytes) -> dict[str, ColumnStatistics]:
            return column_statistics(body, declared, columns)

        if self._table_name:
            declared = self._table.columns
            return self._catalog.column_statistics(self._table, read) or {}
        declared = self._call.columns
        method, request = "table_function_statistics", {"request": self._call_request()}
        return self._client.ask_optional(method, request, read) or {}

    def _call_request(self) -> bytes:
        return FUNCTION_CALL.pack(bind_call=self._call.request, bind_opaque_data=self._call.opaque)


def _count(rows: int | None) -> int | None:
    return rows if rows is not None and rows >= 0 else None
