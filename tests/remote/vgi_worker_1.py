"""A worker on a published vgi-python of VGI 1, like `vgi_worker.py`, for a Python of its own.

`exact_rows_of` declares that it applies filters exactly. `lying_rows_of` returns all rows.
"""

from __future__ import annotations

from vgi._test_fixtures.table.filters import FilterEchoFunction, FilterEchoTableScanFunction
from vgi._test_fixtures.table.sequence import SequenceFunction
from vgi._test_fixtures.table.splits import SplitSequenceFunction
from vgi.catalog import Catalog, ReadOnlyCatalogInterface, Schema
from vgi.table_function import init_single_worker
from vgi.worker import Worker
from vgi_worker_parts import TABLES, LyingRowsOf, PlainRowsOf, RowsOf, branches_of


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
            tables=TABLES,
        )
    ],
)


class Tables(ReadOnlyCatalogInterface):
    catalog = CATALOG

    def table_scan_branches_get(self, *, name, **more):
        if (branches := branches_of(name)) is not None:
            return branches
        return super().table_scan_branches_get(name=name, **more)


class TestWorker(Worker):
    catalog = CATALOG
    catalog_interface = Tables


if __name__ == "__main__":
    TestWorker.main()
