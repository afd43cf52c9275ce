"""What the workers for tests have in common, on any published vgi-python.

`rows_of` returns the rows of an Arrow file, filtered by the framework. The tables have branches, as
`VGI_TEST_BRANCHES` says: a JSON object from the name of a table to
`{"columns": path, "branches": […]}`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa
from vgi._test_fixtures.table.filters import FilterEchoTableScanFunction
from vgi.arguments import Arg
from vgi.catalog import Table
from vgi.catalog.catalog_interface import ScanBranch, ScanBranchesResult
from vgi.catalog.descriptors import ColumnStatisticsInput
from vgi.invocation import BindResponse
from vgi.table_function import TableFunctionGenerator, init_single_worker
from vgi_rpc import ArrowSerializableDataclass


@dataclass(kw_only=True)
class Place(ArrowSerializableDataclass):
    batch: int = 0


@dataclass(slots=True, frozen=True)
class Path:
    path: Annotated[str, Arg(0, doc="An Arrow file")]


@init_single_worker
class RowsOf(TableFunctionGenerator[Path, Place]):
    class Meta:
        name = "rows_of"
        description = "The rows of an Arrow file"
        filter_pushdown = True
        auto_apply_filters = True
        projection_pushdown = True

    @classmethod
    def on_bind(cls, params):
        with pa.ipc.open_file(params.args.path) as file:
            return BindResponse(output_schema=file.schema)

    @classmethod
    def initial_state(cls, params):
        return Place()

    @classmethod
    def process(cls, params, state, out):
        with pa.ipc.open_file(params.args.path) as file:
            if state.batch >= file.num_record_batches:
                out.finish()
                return
            out.emit(file.get_batch(state.batch).select(params.output_schema.names))
        state.batch += 1


@init_single_worker
class LyingRowsOf(RowsOf):
    """The same without applying the filters that it accepts."""

    class Meta:
        name = "lying_rows_of"
        description = "The rows of an Arrow file, whatever the filters are"
        filter_pushdown = True
        projection_pushdown = True


@init_single_worker
class PlainRowsOf(RowsOf):
    """The same without any pushdown."""

    class Meta:
        name = "plain_rows_of"
        description = "The rows of an Arrow file, without pushdown"
        filter_pushdown = False
        projection_pushdown = False


BRANCHES = json.loads(os.environ.get("VGI_TEST_BRANCHES", "{}"))


def _columns(path: str) -> pa.Schema:
    with pa.ipc.open_file(path) as file:
        return file.schema


TABLES = [
    Table(
        name="echo",
        function=FilterEchoTableScanFunction,
        statistics={"n": ColumnStatisticsInput(min=0, max=99, has_null=False, distinct_count=100)},
    ),
    *(Table(name=name, columns=_columns(each["columns"])) for name, each in BRANCHES.items()),
]


def branches_of(name):
    """Return the branches of a table; None: it has none."""
    if name not in BRANCHES:
        return None
    return ScanBranchesResult(branches=[_branch(**each) for each in BRANCHES[name]["branches"]])


def _branch(function="", arguments=(), **more):
    scalars = [pa.scalar(each) for each in arguments]
    return ScanBranch(
        function_name=function, positional_arguments=scalars, named_arguments={}, **more
    )
