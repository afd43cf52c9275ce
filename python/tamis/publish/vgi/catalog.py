"""The catalog of a worker: one schema with functions and tables."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tamis._version import __version__
from tamis.errors import TamisError
from tamis.publish.vgi.functions.arguments import arguments_schema, scan_arguments
from tamis.publish.vgi.functions.table_function import BoundFunction, TableFunction
from tamis.publish.vgi.refusals import Refused
from tamis.remote.vgi.protocol import records
from tamis.remote.vgi.protocol.framing import stream_bytes
from tamis.wire.vgi.document import SEMANTICS

__all__ = ["Catalog", "PublishedRows"]

_LOG = logging.getLogger(__name__)

_SCHEMA: Final = "main"
_PATH: Final = [_SCHEMA]
_ATTACHED: Final = b"tamis"


@dataclass(frozen=True, slots=True)
class PublishedRows:
    """A table of the catalog: a call of a function with text arguments."""

    name: str
    function: TableFunction
    arguments: tuple[str, ...]

    def bind(self) -> BoundFunction:
        declared = (each.name for each in self.function.arguments if not each.is_named)
        return self.function.bind(dict(zip(declared, self.arguments, strict=True)))


@dataclass(frozen=True, slots=True)
class Catalog:
    """What a worker offers. Each method answers the method of the protocol of the same name."""

    name: str
    functions: Mapping[str, TableFunction]
    tables: Mapping[str, PublishedRows]

    def function(self, name: str, path: Sequence[str] | None) -> TableFunction:
        """Return a function; some clients do not name the schema.

        Raises:
            Refused: There is no such function.
        """
        function = self.functions.get(name) if path in (None, [], _PATH) else None
        if function is None:
            raise Refused(f"there is no function {name[:60]!r}", "NOT_FOUND")
        return function

    def catalogs(self) -> bytes:
        info = records.CATALOG_INFO.pack(name=self.name, implementation_version=__version__)
        return records.ITEMS.pack(items=[info])

    def attach(self, request: bytes) -> bytes:
        name = records.CATALOG_ATTACH_REQUEST.unpack(request, ("name",))["name"]
        if name not in ("", self.name):
            raise Refused(
                f"there is no catalog {name[:60]!r}: this worker has {self.name!r}", "NOT_FOUND"
            )
        return records.CATALOG_ATTACHED.pack(
            attach_opaque_data=_ATTACHED,
            catalog_version_frozen=True,
            catalog_version=1,
            default_schema=_SCHEMA,
            global_function_prefix="",
            resolved_implementation_version=__version__,
            supports_column_statistics=True,
        )

    def version(self) -> bytes:
        return records.CATALOG_VERSION.pack(version=1)

    def schemas(self) -> bytes:
        counts = {"table": len(self.tables), "table_function": len(self.functions)}
        counts |= dict.fromkeys(("view", "scalar_function", "aggregate_function"), 0)
        counts |= dict.fromkeys(("macro", "index"), 0)
        info = records.SCHEMA_INFO.pack(path=_PATH, estimated_object_count=counts)
        return records.ITEMS.pack(items=[info])

    def schema_get(self, path: Sequence[str]) -> bytes:
        return self.schemas() if path == _PATH else self.nothing()

    def nothing(self) -> bytes:
        return records.ITEMS.pack(items=[])

    def contents_functions(self, path: Sequence[str], kind: str) -> bytes:
        if path != _PATH or kind.upper() != "TABLE_FUNCTION":
            return self.nothing()
        return records.ITEMS.pack(items=[_function_info(each) for each in self.functions.values()])

    def contents_tables(self, path: Sequence[str]) -> bytes:
        if path != _PATH:
            return self.nothing()
        return records.ITEMS.pack(items=list(self._readable_tables()))

    def _readable_tables(self) -> Iterator[bytes]:
        """Yield the tables that can be read now: one that cannot must not hide the others."""
        for table in self.tables.values():
            try:
                yield _table_info(table)
            except TamisError as problem:
                _LOG.warning("the table %s is left out of the catalog: %s", table.name, problem)

    def table_get(self, path: Sequence[str], name: str, at: object) -> bytes:
        try:
            table = self.table(path, name, at)
        except Refused:
            if at:
                raise
            return self.nothing()
        return records.ITEMS.pack(items=[_table_info(table)])

    def table(self, path: Sequence[str], name: str, at: object) -> PublishedRows:
        """Return a table.

        Raises:
            Refused: There is no such table, or not as of a time.
        """
        if at:
            raise Refused("this worker does not support time travel (AT)", "UNIMPLEMENTED")
        table = self.tables.get(name) if path in ([], _PATH) else None
        if table is None:
            raise Refused(f"there is no table {name[:60]!r}", "NOT_FOUND")
        return table

    def scan_function(self, path: Sequence[str], name: str, at: object) -> bytes:
        table = self.table(path, name, at)
        return records.SCAN_FUNCTION.pack(
            function_name=table.function.name,
            arguments=scan_arguments(table.arguments),
            schema_path=_PATH,
        )

    def scan_branches(self, path: Sequence[str], name: str, at: object) -> bytes:
        table = self.table(path, name, at)
        branch = records.BRANCH.pack(
            function_name=table.function.name,
            arguments=scan_arguments(table.arguments),
            schema_path=_PATH,
        )
        return records.BRANCHES.pack(branches=[branch])

    def column_statistics(self, path: Sequence[str], name: str) -> bytes | None:
        statistics = self.table(path, name, None).bind().statistics()
        return None if statistics is None else stream_bytes(statistics)


def _function_info(function: TableFunction) -> bytes:
    info: dict[str, Any] = {
        "name": function.name,
        "schema_path": _PATH,
        "function_type": "TABLE",
        "arguments": arguments_schema(function.arguments),
        "output_schema": b"",  # depends on the arguments
        "description": function.description,
        "projection_pushdown": True,
        "filter_pushdown": True,
        "sampling_pushdown": False,
        "late_materialization": False,
        "filter_semantic_profiles": [SEMANTICS],
        "order_preservation": "PRESERVES_ORDER",
        "max_workers": 1,
        "supports_splits": function.supports_splits,
        "partition_kind": "NOT_PARTITIONED",
        "order_dependent": "NOT_ORDER_DEPENDENT",
        "distinct_dependent": "NOT_DISTINCT_DEPENDENT",
    }
    return records.FUNCTION_INFO.pack(**info)


def _table_info(table: PublishedRows) -> bytes:
    bound = table.bind()
    rows = bound.cardinality()
    return records.TABLE_INFO.pack(
        name=table.name,
        schema_path=_PATH,
        columns=bound.schema.serialize().to_pybytes(),
        supports_column_statistics=True,
        cardinality_estimate=rows,
        cardinality_max=None,
    )
