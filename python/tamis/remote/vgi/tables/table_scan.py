"""Scans of a table of a catalog, which is the union of its branches.

columns     by name; NULL where a branch lacks one, an error where it has more
types       widened to those of the table
filter      of a branch: sent as required if the worker applies it exactly, or applied to the rows
pruning     a branch is left out if its filter contradicts those of the query, and a file if its
            footer does
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.evaluation.verdict import Verdict
from tamis.expr.nodes import Expr, columns_of
from tamis.expr.rewrites import TRUE, conjoin
from tamis.expr.sql import to_sql
from tamis.files.verdicts import evaluate
from tamis.remote.arrow_form import readable_type
from tamis.remote.contract import Applied, ReadRequest
from tamis.remote.executor import Task
from tamis.remote.file_pruning import ruled_out
from tamis.remote.parquet_task import ParquetTask
from tamis.remote.vgi.catalog import Catalog, Table
from tamis.remote.vgi.client import Client
from tamis.remote.vgi.filters.encodings import encoding_of
from tamis.remote.vgi.filters.sendable_filters import sendable
from tamis.remote.vgi.functions.arguments import flat_arguments
from tamis.remote.vgi.functions.call import Call, bound_call
from tamis.remote.vgi.functions.function_scan import Filtering, FunctionScan
from tamis.remote.vgi.protocol.framing import READ_FAILURES
from tamis.remote.vgi.tables.branch_filter import row_filter_of
from tamis.remote.vgi.tables.branch_task import BranchTask, Check
from tamis.remote.vgi.tables.branches import Branch, table_branches
from tamis.remote.vgi.tables.lake_files import LakeFiles
from tamis.remote.vgi.tables.row_filter import RowFilter
from tamis.remote.vgi.transports.connection import one_line
from tamis.sources.errors import SourceError

__all__ = ["TableScan"]

_STEP: Final = "reading the branches"
#: A file without known statistics.
_UNKNOWN: Final = pa.table({"path": ["unknown"]})


class TableScan:
    """Reads the rows of a table.

    Args:
        client: The worker.
        catalog: The catalog of the table.
        table: The table.
        filtering: How much filters are left to the worker.
    """

    def __init__(
        self, client: Client, catalog: Catalog, table: Table, filtering: Filtering
    ) -> None:
        self._client, self._catalog, self._table = client, catalog, table
        self._filtering = filtering

    @cached_property
    def _branches(self) -> list[Branch]:
        return table_branches(self._client, self._catalog, self._table.columns)

    @cached_property
    def direct(self) -> FunctionScan | None:
        """The scan of the only function, if its columns are those of the table; else None."""
        if len(self._branches) != 1 or self._branches[0].filter is not None:
            return None
        (branch,) = self._branches
        if branch.arguments is None:
            return None
        call = self._call(branch)
        types = {each.name: each.type for each in call.columns}
        is_same = len(types) == len(call.columns) and all(
            types.get(each.name) == each.type for each in self._table.columns
        )
        return FunctionScan(self._client, call, self._filtering) if is_same else None

    def applied(self, filters: Sequence[Expr]) -> list[Applied]:
        """Return how the worker applies each of these conjuncts."""
        if self.direct is not None:
            return self.direct.applied(filters)
        # Each branch applies them in its own way.
        columns, encoding = self._table.columns, encoding_of(self._client.version)
        is_off = self._filtering is Filtering.OFF
        return [
            Applied.IGNORED
            if is_off or sendable(each, columns, encoding) is None
            else Applied.PARTLY
            for each in filters
        ]

    def tasks(self, request: ReadRequest) -> list[Task]:
        """Return the parts of the table.

        Raises:
            RemoteError: The worker fails, a branch cannot be read, or the query lacks a filter that
                the table requires.
        """
        self._check_filters(request)
        if self.direct is not None:
            return list(self.direct.tasks(request))
        if request.required:
            raise self._client.error("planning", "the branches have changed", "Run the query again")
        tasks: list[Task] = []
        for branch in self._branches:
            whole = conjoin([*([branch.filter] if branch.filter else []), *request.filters])
            if evaluate(whole, _UNKNOWN)[0].as_py() == Verdict.NONE:
                continue  # no row passes both the filter of the branch and those of the query
            if branch.kind:
                tasks += self._lake(branch, request, whole)
            elif branch.arguments is None:
                tasks += self._files(branch, request, whole)
            else:
                tasks += self._rows(branch, request)
        return tasks

    def _check_filters(self, request: ReadRequest) -> None:
        paths = {
            ".".join(path)
            for each in (*request.required, *request.filters)
            for path in columns_of(each)
        } | {".".join(each.column.path) for each in request.keys}
        for group in self._table.required_filters:
            if group and not paths & set(group):
                raise self._client.error(
                    "planning", f"the table requires a filter on {' or '.join(group)}",
                    "Add one, and create the session with tamis.configure: without the extension, "
                    "no filter is sent",
                )  # fmt: skip

    def _call(self, branch: Branch) -> Call:
        path = list(branch.path)
        function = self._catalog.functions(branch.function, path)[0]
        assert branch.arguments is not None  # of a function
        arguments = flat_arguments(branch.arguments)
        return bound_call(self._client, self._catalog, function, path, arguments)

    def _rows(self, branch: Branch, request: ReadRequest) -> list[Task]:
        """Return the tasks of a branch that is a function."""
        call = self._call(branch)
        self._check_columns(branch, call.columns)
        needed = self._needed(branch, request)
        inner = tuple(name for name in needed.names if name in call.columns.names)
        scan = FunctionScan(self._client, call, self._filtering)
        is_sent = branch.filter is not None and scan.is_exact(branch.filter)
        restriction = None if is_sent or branch.filter is None else self._row_filter(branch)
        check = self._check(branch) if is_sent and request.verify else None
        own = ReadRequest(
            columns=inner or (call.columns.names[0],),
            filters=request.filters,
            keys=request.keys,
            required=(branch.filter,) if is_sent and branch.filter is not None else (),
            limit=request.limit if restriction is None else None,
            order=() if branch.filter is not None else request.order,
        )
        if request.order:
            own = self._without_limit(own)
        limit = None if request.order else request.limit
        return [
            BranchTask(self._client.label, task, needed, restriction, limit, check)
            for task in scan.tasks(own)
        ]

    @staticmethod
    def _without_limit(request: ReadRequest) -> ReadRequest:
        return ReadRequest(request.columns, request.filters, None, request.required, request.keys)

    def _files(self, branch: Branch, request: ReadRequest, whole: Expr) -> list[Task]:
        """Return the tasks of a branch of Parquet files."""
        needed = self._needed(branch, request)
        restriction = None if branch.filter is None else self._row_filter(branch)
        limit = None if request.order else request.limit
        tasks: list[Task] = []
        for path in branch.files:
            try:
                metadata = pq.read_metadata(path)
                columns = metadata.schema.to_arrow_schema()
            except READ_FAILURES as error:
                raise self._client.error(
                    _STEP, f"{branch.name}: {path} cannot be read ({one_line(error)})"
                ) from error
            self._check_columns(branch, columns)
            if whole != TRUE and ruled_out([metadata], [whole])[0]:
                continue
            rows = ParquetTask(self._client.label, path, needed)
            tasks.append(BranchTask(self._client.label, rows, needed, restriction, limit))
        return tasks

    def _lake(self, branch: Branch, request: ReadRequest, whole: Expr) -> list[Task]:
        """Return the tasks of a branch that is a Delta or Iceberg table."""
        needed = self._needed(branch, request)
        restriction = None if branch.filter is None else self._row_filter(branch)
        limit = None if request.order else request.limit
        try:
            files = LakeFiles(branch.name, branch.table, branch.kind, self._client.label)
            self._check_columns(branch, files.columns)
            names = tuple(name for name in needed.names if name in files.columns.names)
            lake_tasks = list(files.tasks(names, whole))
        except SourceError as error:
            raise self._client.error(_STEP, one_line(error)) from error
        return [
            BranchTask(self._client.label, each, needed, restriction, limit) for each in lake_tasks
        ]

    def _needed(self, branch: Branch, request: ReadRequest) -> pa.Schema:
        """Return the columns of the table that the query and the filter of the branch need."""
        own = columns_of(branch.filter) if branch.filter is not None else ()
        names = dict.fromkeys([*request.columns, *(path[0] for path in own)])
        fields = [self._table.columns.field(name) for name in names] or [self._table.columns[0]]
        return pa.schema([each.with_nullable(True) for each in fields])

    def _check_columns(self, branch: Branch, columns: pa.Schema) -> None:
        """Check that the columns of a branch are some of those of the table, in types that fit.

        Raises:
            RemoteError: They are not.
        """
        table = {each.name: each.type for each in self._table.columns}
        for each in columns:
            problem = ""
            if columns.names.count(each.name) > 1:
                problem = "occurs more than once"
            elif each.name not in table:
                problem = "is not a column of the table"
            elif not _fits(each.type, table[each.name]):
                problem = f"has the type {each.type}, but {table[each.name]} in the table"
            if problem:
                raise self._client.error(_STEP, f"{branch.name}: the column {each.name} {problem}")

    def _check(self, branch: Branch) -> Check:
        """Return the check that the rows of a function satisfy the filter of its branch."""
        assert branch.filter is not None
        return Check(self._row_filter(branch), branch.name, to_sql(branch.filter))

    def _row_filter(self, branch: Branch) -> RowFilter:
        assert branch.filter is not None
        row_filter = row_filter_of(branch.filter, self._table.columns)
        if row_filter is None:
            raise self._client.error(
                _STEP,
                f"{branch.name}: its filter can be applied neither by the worker nor by tamis",
            )
        return row_filter


def _fits(data_type: Any, wanted: Any) -> bool:
    """Return whether every value of a type has the same value in the wanted type."""
    if data_type == wanted:
        return True
    types = pa.types
    if types.is_float16(wanted) or isinstance(data_type, pa.BaseExtensionType):
        return False  # the cast would round, or take the bytes of a UUID for text
    if readable_type(data_type) == readable_type(wanted) is not None:
        return True
    if types.is_integer(data_type) and types.is_integer(wanted):
        return True  # a value that does not fit is an error
    return bool(types.is_float32(data_type) and types.is_float64(wanted))
