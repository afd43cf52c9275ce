"""What a worker lists: its catalogs, table functions and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

import pyarrow as pa

from tamis.errors import some_of
from tamis.remote.vgi.client import Client, Refused
from tamis.remote.vgi.protocol.framing import MalformedMessage, batch_of, schema_of
from tamis.remote.vgi.protocol.record import Record
from tamis.remote.vgi.protocol.records import (
    BRANCH,
    BRANCHES,
    CAPABILITIES,
    CATALOG_ATTACH_REQUEST,
    CATALOG_ATTACHED,
    CATALOG_INFO,
    FUNCTION_INFO,
    ITEMS,
    SCAN_FUNCTION,
    TABLE_INFO,
)
from tamis.remote.vgi.protocol.version_1 import FUNCTION_SCHEMA, is_first

__all__ = ["SEMANTICS", "Catalog", "Function", "Table", "row_of_arguments"]

_Answer = TypeVar("_Answer")

#: The only semantic profile of filters: DuckDB's.
SEMANTICS: Final = "vgi.duckdb.standard.v1"
_SHOWN: Final = 10
_LIST_FUNCTIONS: Final = "catalog_schema_contents_functions"
_OF_FUNCTION: Final = (
    "name", "function_type", "arguments", "projection_pushdown", "filter_pushdown",
    "filter_semantic_profiles", "filters_exactly_applied", "supports_splits",
)  # fmt: skip
_OF_TABLE: Final = (
    "columns", "cardinality_estimate", "column_statistics", "supports_column_statistics",
    "required_filters",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Function:
    """A table function, and what it supports.

    If several functions have the same name, each has only what all of them support.

    - `filters_exactly`: whether the function declares that it returns only rows that pass every
      filter. Requests of version 2 say per filter whether it must be applied exactly.
    """

    name: str
    arguments: pa.Schema
    projects: bool = False
    filters: bool = False
    filters_exactly: bool = False
    splits: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a catalog.

    - `required_filters`: a scan must have a filter on one column of each group.
    - `statistics`: those of its columns, if the catalog has sent them along.
    """

    name: str
    columns: pa.Schema
    rows: int | None
    statistics: bytes | None
    has_statistics: bool
    required_filters: tuple[tuple[str, ...], ...]


class Catalog:
    """An attached catalog.

    Args:
        client: The worker.
        name: The name of the catalog; empty: the only one that the worker has.
        schema: The path of the schema, with dots; empty: the default schema.

    Raises:
        RemoteError: The worker has no such catalog.
    """

    def __init__(self, client: Client, name: str, schema: str) -> None:
        self._client = client
        self.name = name or self._only()
        self._is_first = is_first(client.version)
        # The names of encodings are newer than version 1, which has only one.
        encodings = [] if self._is_first else ["vgi.filters.v2"]
        capabilities = CAPABILITIES.pack(engine="spark", filter_encodings=encodings)
        request = CATALOG_ATTACH_REQUEST.pack(name=self.name, client_capabilities=capabilities)
        fields = ("attach_opaque_data", "default_schema")
        attached = client.ask(
            "catalog_attach",
            {"request": request},
            lambda body: CATALOG_ATTACHED.unpack(body, fields),
        )
        self.key: bytes = attached["attach_opaque_data"]
        self.path: list[str] = (schema or attached["default_schema"]).split(".")

    def _only(self) -> str:
        names = self._client.ask(
            "catalog_catalogs",
            {},
            lambda body: [each["name"] for each in _unpacked(body, CATALOG_INFO, ("name",))],
        )
        if len(names) != 1:
            known = some_of(names, _SHOWN)
            raise self._client.error(
                "catalog_catalogs",
                f"the worker has {len(names)} catalogs: {known}",
                "Set the option catalog",
            )
        return str(names[0])

    def functions(self, name: str, path: list[str]) -> list[Function]:
        """Return the table functions with this name.

        Raises:
            RemoteError: There are none.
        """

        method, listed = _LIST_FUNCTIONS, self._listed(path)
        same = [each for each in listed if each["name"] == name]
        if not same:
            known = some_of(sorted({each["name"] for each in listed}), _SHOWN)
            raise self._client.error(
                method, f"there is no such table function. The table functions are {known}"
            )
        kinds = {str(each["function_type"]).upper() for each in same}
        if kinds != {"TABLE"}:
            raise self._client.error(
                method, "the function takes a table as its input, which tamis does not send"
            )
        return [
            Function(
                name,
                self._client.parsed(method, each["arguments"], _argument_schema),
                all(each["projection_pushdown"] for each in same),
                all(each["filter_pushdown"] and self._has_semantics(each) for each in same),
                all(each["filters_exactly_applied"] for each in same),
                all(each["supports_splits"] for each in same),
            )
            for each in same
        ]

    def _listed(self, path: list[str]) -> list[dict[str, Any]]:
        """Return the table functions of a schema."""

        def read(body: bytes) -> list[dict[str, Any]]:
            return _unpacked(body, FUNCTION_INFO, _OF_FUNCTION)

        values = {"attach_opaque_data": self.key, "path": path, "type": "TABLE_FUNCTION"}
        return self._client.ask(_LIST_FUNCTIONS, values, read)

    @cached_property
    def _function_names(self) -> frozenset[str]:
        """The names of the table functions in the schema."""
        return frozenset(each["name"] for each in self._listed(self.path))

    def _has_semantics(self, function: Mapping[str, Any]) -> bool:
        """Return whether filters have the meaning of DuckDB, which version 1 does not declare."""
        return self._is_first or SEMANTICS in function["filter_semantic_profiles"]

    def table(self, name: str) -> Table:
        """Return a table.

        Raises:
            RemoteError: There is no such table.
        """
        tables = self._client.ask(
            "catalog_table_get",
            self._of_table(name),
            lambda body: _unpacked(body, TABLE_INFO, _OF_TABLE),
        )
        if len(tables) != 1:
            path = ".".join(self.path)
            raise self._client.error(
                "catalog_table_get",
                f"the schema {path} of the catalog {self.name} has no such table",
            )
        (table,) = tables
        return Table(
            name,
            self._client.parsed("catalog_table_get", table["columns"], _table_columns),
            table["cardinality_estimate"],
            table["column_statistics"] or None,
            table["supports_column_statistics"],
            tuple(tuple(group or ()) for group in table["required_filters"]),
        )

    def branches(self, name: str) -> list[dict[str, Any]]:
        """Return the branches of a table. A worker without branches has one, its scan function."""

        def read(body: bytes) -> list[dict[str, Any]]:
            answer = BRANCHES.unpack(body, ["branches"])
            return [self._branch(BRANCH, each) for each in answer["branches"]]

        def read_function(body: bytes) -> dict[str, Any]:
            return self._branch(SCAN_FUNCTION, body)

        try:
            listed = self._client.ask("catalog_table_scan_branches_get", self._of_table(name), read)
            return [self._in_schema(each) for each in listed]
        except Refused as refused:
            if refused.kind != "method_not_implemented" and "not implemented" not in str(refused):
                raise
        function = self._client.ask(
            "catalog_table_scan_function_get", self._of_table(name), read_function
        )
        return [self._in_schema(dict.fromkeys(BRANCH.schema.names) | function)]

    def _branch(self, record: Record, body: bytes) -> dict[str, Any]:
        """Return the branch of a record. Its `schema_path` is that of its function, if known."""
        branch = record.unpack(body)
        if self._is_first:
            schema = FUNCTION_SCHEMA.unpack(body)["schema_name"]
            branch["schema_path"] = None if schema is None else [schema]
        return branch

    def _in_schema(self, branch: dict[str, Any]) -> dict[str, Any]:
        """Return a branch with the schema of its function; None: it is a function of DuckDB.

        Versions before 1.5 do not name the schema.
        """
        function, path = branch["function_name"], branch["schema_path"]
        if self._is_first and function and path is None and function in self._function_names:
            return branch | {"schema_path": self.path}
        return branch

    def column_statistics(self, table: Table, read: Callable[[bytes], _Answer]) -> _Answer | None:
        """Return what `read` makes of the statistics of a table; None if there are none.

        Raises:
            RemoteError: The worker fails, or the statistics are malformed.
        """
        method = "catalog_table_column_statistics_get"
        if table.statistics:
            return self._client.parsed(method, table.statistics, read)
        if not table.has_statistics:
            return None
        values = {"attach_opaque_data": self.key, "schema_path": self.path, "name": table.name}
        return self._client.ask_optional(method, values, read)

    def _of_table(self, name: str) -> dict[str, Any]:
        return {"attach_opaque_data": self.key, "schema_path": self.path, "name": name}


def _unpacked(body: bytes, record: Record, fields: tuple[str, ...]) -> list[dict[str, Any]]:
    return [record.unpack(each, fields) for each in ITEMS.unpack(body)["items"]]


def _argument_schema(body: bytes) -> pa.Schema:
    return schema_of(body, "the arguments of the function") if body else pa.schema([])


def _table_columns(body: bytes) -> pa.Schema:
    return schema_of(body, "the columns of the table")


def row_of_arguments(body: bytes) -> pa.RecordBatch:
    """Return the arguments of a scan function, or the options of a format: one row.

    Raises:
        MalformedMessage: The bytes are something else.
    """
    row = batch_of(body, "the arguments of the scan function") if body else _NO_ARGUMENTS
    if row.num_columns and row.num_rows != 1:
        raise MalformedMessage(f"the arguments of the scan function have {row.num_rows} rows")
    return row


_NO_ARGUMENTS: Final = pa.RecordBatch.from_struct_array(pa.array([{}], pa.struct([])))
