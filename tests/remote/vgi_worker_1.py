"""A worker on a published vgi-python of VGI 1, like `vgi_worker.py`, for a Python of its own.

`exact_rows_of` declares that it applies filters exactly. `lying_rows_of` returns all rows.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa
from vgi._test_fixtures.table.filters import FilterEchoFunction, FilterEchoTableScanFunction
from vgi._test_fixtures.table.sequence import SequenceFunction
from vgi._test_fixtures.table.splits import SplitSequenceFunction
from vgi.arguments import Arg
from vgi.catalog import Catalog, ReadOnlyCatalogInterface, Schema, Table
from vgi.catalog.catalog_interface import ScanBranch, ScanBranchesResult
from vgi.catalog.descriptors import ColumnStatisticsInput
from vgi.invocation import BindResponse
from vgi.table_function import TableFunctionGenerator, init_single_worker
from vgi.worker import Worker
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
class ExactRowsOf(RowsOf):
    class Meta(RowsOf.Meta):
        name = "exact_rows_of"
        filters_exactly_applied = True


@init_single_worker
class WholeRowsOf(RowsOf):
    class Meta(RowsOf.Meta):
        name = "whole_rows_of"
        projection_pushdown = False


@init_single_worker
class LyingRowsOf(RowsOf):
    class Meta(RowsOf.Meta):
        name = "lying_rows_of"
        auto_apply_filters = False


@init_single_worker
class PlainRowsOf(RowsOf):
    class Meta(RowsOf.Meta):
        name = "plain_rows_of"
        auto_apply_filters = False
        filter_pushdown = False


BRANCHES = json.loads(os.environ.get("VGI_TEST_BRANCHES", "{}"))


def _columns(path: str) -> pa.Schema:
    with pa.ipc.open_file(path) as file:
        return file.schema


CATALOG = Catalog(
    name="example",
    default_schema="main",
    schemas=[
        Schema(
            name="main",
            functions=[
                ExactRowsOf,
                FilterEchoFunction,
                FilterEchoTableScanFunction,
                LyingRowsOf,
                PlainRowsOf,
                RowsOf,
                SequenceFunction,
                SplitSequenceFunction,
                WholeRowsOf,
            ],
            tables=[
                Table(
                    name="echo",
                    function=FilterEchoTableScanFunction,
                    statistics={
                        "n": ColumnStatisticsInput(
                            min=0, max=99, has_null=False, distinct_count=100
                        )
                    },
                ),
                *(
                    Table(name=name, columns=_columns(each["columns"]))
                    for name, each in BRANCHES.items()
                ),
            ],
        )
    ],
)


class Tables(ReadOnlyCatalogInterface):
    catalog = CATALOG

    def table_scan_branches_get(self, *, name, **more):
        if name not in BRANCHES:
            return super().table_scan_branches_get(name=name, **more)
        return ScanBranchesResult(branches=[_branch(**each) for each in BRANCHES[name]["branches"]])


def _branch(function="", arguments=(), **more):
    scalars = [pa.scalar(each) for each in arguments]
    return ScanBranch(
        function_name=function, positional_arguments=scalars, named_arguments={}, **more
    )


class TestWorker(Worker):
    catalog = CATALOG
    catalog_interface = Tables


if __name__ == "__main__":
    TestWorker.main()
