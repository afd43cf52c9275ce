"""A worker on the published vgi-python, for a Python of its own: `python vgi_worker.py [--http]`.

It offers the probe functions that the package has, unmodified, and what `vgi_worker_parts` has.
"""

from __future__ import annotations

from vgi._test_fixtures.table.filters import (
    BoolFilterEchoFunction,
    DynamicFilterEchoFunction,
    FilterEchoFunction,
    FilterEchoTableScanFunction,
)
from vgi._test_fixtures.table.sequence import SequenceFunction
from vgi._test_fixtures.table.splits import (
    SplitEchoFiltersFunction,
    SplitEmptyRangesFunction,
    SplitEndlessCursorFunction,
    SplitManyFunction,
    SplitPaginatedFunction,
    SplitSequenceFunction,
    SplitShortTtlFunction,
    SplitSkewedFunction,
    SplitZeroFunction,
)
from vgi._test_fixtures.table.typed_probe import TypedProbeFunction
from vgi.catalog import Catalog, ReadOnlyCatalogInterface, Schema
from vgi.worker import Worker
from vgi_worker_parts import TABLES, LyingRowsOf, PlainRowsOf, RowsOf, branches_of

CATALOG = Catalog(
    name="example",
    default_schema="main",
    schemas=[
        Schema(
            path=["main"],
            functions=[
                BoolFilterEchoFunction,
                DynamicFilterEchoFunction,
                FilterEchoFunction,
                FilterEchoTableScanFunction,
                LyingRowsOf,
                PlainRowsOf,
                RowsOf,
                SequenceFunction,
                SplitEchoFiltersFunction,
                SplitEmptyRangesFunction,
                SplitEndlessCursorFunction,
                SplitManyFunction,
                SplitPaginatedFunction,
                SplitSequenceFunction,
                SplitShortTtlFunction,
                SplitSkewedFunction,
                SplitZeroFunction,
                TypedProbeFunction,
            ],
            tables=TABLES,
        )
    ],
)


class Tables(ReadOnlyCatalogInterface):
    catalog = CATALOG

    def table_scan_branches_get(self, *, schema_path, name, **more):
        if (branches := branches_of(name)) is not None:
            return branches
        return super().table_scan_branches_get(schema_path=schema_path, name=name, **more)


class TestWorker(Worker):
    catalog = CATALOG
    catalog_interface = Tables


if __name__ == "__main__":
    TestWorker.main()
