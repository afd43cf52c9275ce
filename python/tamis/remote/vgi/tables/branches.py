"""The branches of a table: functions, Parquet files, and Delta and Iceberg tables, whose rows
together are the table.

A branch may have a filter, which restricts its rows. A branch of another kind is refused with its
name: without its rows the table would not be complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from tamis.expr.nodes import Expr
from tamis.remote.vgi.catalog import Catalog, row_of_arguments
from tamis.remote.vgi.client import Client
from tamis.remote.vgi.tables.branch_filter import (
    UnknownPredicate,
    parse_branch_filter,
)
from tamis.remote.vgi.tables.branch_paths import matching_files
from tamis.remote.vgi.tables.lake_files import FORMATS

__all__ = ["Branch", "table_branches"]

_PARQUET_FUNCTIONS: Final = frozenset({"read_parquet", "parquet_scan"})
_TABLE_FUNCTIONS: Final = frozenset({"delta_scan", "iceberg_scan"})


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch: a function of the worker with its arguments, local Parquet files, or a local table.

    - `name`: what the branch is, for errors.
    - `arguments`: those of the function; None for files and tables.
    - `files`: the Parquet files.
    - `kind`, `table`: the format of a Delta or Iceberg table, and its path.
    """

    name: str
    filter: Expr | None
    function: str = ""
    path: tuple[str, ...] = ()
    arguments: pa.RecordBatch | None = None
    files: tuple[str, ...] = ()
    kind: str = ""
    table: str = ""


def table_branches(client: Client, catalog: Catalog, columns: pa.Schema) -> list[Branch]:
    """Return the branches of the table that the client reads.

    Raises:
        RemoteError: A branch is of a kind that tamis does not read, or its filter is not
            understood.
    """
    listed = catalog.branches(client.target.rpartition(".")[2])
    return [_branch(client, each, columns, place) for place, each in enumerate(listed, 1)]


def _branch(client: Client, record: Mapping[str, Any], columns: pa.Schema, place: int) -> Branch:
    def refused(problem: str) -> Exception:
        return client.error("reading the branches", f"branch {place} {problem}")

    if record["source_table"]:
        source = ".".join([record["source_catalog"] or "", record["source_table"]]).lstrip(".")
        raise refused(f"is the table {source} of another catalog, which tamis does not read")
    restriction = None
    if record["branch_filter"]:
        try:
            restriction = parse_branch_filter(record["branch_filter"], columns)
        except UnknownPredicate as error:
            raise refused(f"has the filter {record['branch_filter']!r}: {error}") from error
    step = "reading the branches"
    arguments = client.parsed(step, record["arguments"] or b"", row_of_arguments)
    kind = record["format_name"]
    function = record["function_name"]
    if kind:
        options = client.parsed(step, record["format_options"] or b"", row_of_arguments)
        locations = record["format_locations"] or []
    elif not function:
        raise refused("has neither a function nor a format")
    elif record["schema_path"] is not None:
        path = tuple(record["schema_path"])
        return Branch(f"branch {place} ({function})", restriction, function, path, arguments)
    else:
        # Without a schema it is a function of DuckDB.
        kind, options, locations = _native(function, arguments)
    kind = kind.lower()
    if kind != "parquet" and kind not in FORMATS:
        raise refused(f"has the format {kind}, which tamis does not read")
    if options.num_columns:
        names = ", ".join(options.schema.names)
        raise refused(f"reads {kind} with the options {names}, which tamis does not know")
    try:
        files = tuple(_local_path(each, kind) for each in locations)
        if kind == "parquet":
            files = tuple(path for each in files for path in matching_files(each))
    except ValueError as error:
        raise refused(str(error)) from error
    if kind in FORMATS:
        if len(files) != 1:
            raise refused(f"has {len(files)} locations for one table of the format {kind}")
        name = f"branch {place} ({FORMATS[kind]})"
        return Branch(name, restriction, kind=FORMATS[kind], table=files[0])
    return Branch(f"branch {place} (parquet)", restriction, files=files)


def _native(function: str, arguments: pa.RecordBatch) -> tuple[str, pa.RecordBatch, Sequence[str]]:
    """Return the format, its options and its locations, for a function of DuckDB."""
    if (
        function not in (*_PARQUET_FUNCTIONS, *_TABLE_FUNCTIONS)
        or "arg_0" not in arguments.schema.names
    ):
        return function, arguments, []
    value = arguments.column("arg_0")[0].as_py()
    locations = [value] if isinstance(value, str) else value
    kind = "parquet" if function in _PARQUET_FUNCTIONS else function
    return kind, arguments.drop_columns(["arg_0"]), locations or []


def _local_path(location: object, kind: str) -> str:
    """Return the path of local files.

    Raises:
        ValueError: The location is a URL, or has wildcards that are not supported.
    """
    if not isinstance(location, str) or not location:
        raise ValueError(f"reads {kind} without a location")
    parts = urlsplit(location)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        location = unquote(parts.path)
    elif "://" in location:
        raise ValueError(f"reads {location}: tamis reads only local files of branches")
    unsupported = "[" if kind == "parquet" else "*?["
    if any(each in location for each in unsupported):
        raise ValueError(f"reads {location}: tamis does not expand these wildcards")
    return location
