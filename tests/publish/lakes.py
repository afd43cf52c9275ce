"""Rows for Delta and Iceberg tables, and the comparison of published tables with all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.publish.pruning import Snapshot, exact_filters
from tamis.wire.duckdb import from_duckdb
from tests.publish.mixed_table import CONDITIONS, write_mixed_table
from tests.wire.duckdb.planned import planned_filters, prepare

#: Columns of types that neither Delta nor Iceberg has.
_UNKNOWN: Final = ("small", "tsms", "tsns")
LAKE_CONDITIONS: Final = tuple(
    each for each in CONDITIONS if not any(name in each for name in _UNKNOWN)
)


def mixed_rows(folder: Path) -> list[pa.Table]:
    """Return the rows of the mixed table, one table per partition."""
    write_mixed_table(folder)
    tables = []
    for path in sorted(folder.rglob("*.parquet")):
        rows = pq.ParquetFile(path).read().drop_columns(list(_UNKNOWN))
        p, q = (part.partition("=")[2] for part in path.relative_to(folder).parts[:2])
        values: Sequence[tuple[str, Any, Any]] = [
            ("p", pa.int32(), None if p.startswith("__") else int(p)),
            ("q", pa.string(), None if q.startswith("__") else q.replace("%25", "%")),
        ]
        for name, data_type, value in values:
            rows = rows.append_column(name, pa.array([value] * rows.num_rows, data_type))
        tables.append(rows)
    return tables


def without_catalog(table: Any) -> Path:
    """Give the metadata files of an Iceberg table the names that they have without a catalog."""
    root = Path(table.location().removeprefix("file://"))
    for path in sorted((root / "metadata").glob("*.metadata.json")):
        path.rename(path.with_name(f"v{int(path.name[:5]) + 1}.metadata.json"))
    return root


def rows_of(snapshot: Snapshot, *names: str) -> list[dict[str, Any]]:
    """Return all rows as a published table reads them."""
    columns = names or tuple(snapshot.schema.names)
    return [
        row
        for part in snapshot.surviving()
        for batch in snapshot.reader.batches(part, columns)
        for row in batch.to_pylist()
    ]


def by_id(rows: Sequence[dict[str, Any]]) -> dict[int, str]:
    """Return the rows by their column id, as text, in which NaN equals NaN."""
    found = {row["id"]: repr(sorted(row.items())) for row in rows}
    assert len(found) == len(rows)
    return found


@dataclass
class Comparison:
    """A published table, and the same rows as its own library reads them."""

    snapshot: Snapshot
    rows: pa.Table
    connection: duckdb.DuckDBPyConnection = field(init=False)

    def __post_init__(self) -> None:
        self.connection = duckdb.connect()
        prepare(self.connection)
        self.connection.register("all_rows", self.rows)
        self.connection.execute("CREATE TABLE mixed AS SELECT * FROM all_rows")
        self.expected = by_id(self.rows.to_pylist())

    def check(self, where: str) -> tuple[int, bool]:
        """Compare the rows that survive a condition. Return their number, and if it is exact."""
        # DuckDB evaluates a condition without columns itself
        document = planned_filters(self.connection, "mixed", where) or {"filters": []}
        document = {**document, "column_binding_names_by_index": self.rows.schema.names}
        filters = from_duckdb(document, self.snapshot.schema)
        parts = self.snapshot.surviving(filters)
        read = by_id(
            [
                row
                for part in parts
                for batch in self.snapshot.reader.batches(part, self.rows.schema.names)
                for row in batch.to_pylist()
            ]
        )
        for key, row in read.items():
            assert row == self.expected[key]
        query = f"SELECT id FROM mixed WHERE {where}"
        passing = {row[0] for row in self.connection.execute(query).fetchall()}
        assert passing <= set(read), where
        is_exact = len(filters) > 0 and len(exact_filters(parts, len(filters))) == len(filters)
        if is_exact and parts:
            assert set(read) == passing, where
        return len(read), is_exact

    def check_random(self, seed: int, count: int) -> None:
        """Compare conditions one by one, and random combinations."""
        results = [self.check(where) for where in LAKE_CONDITIONS]
        everything = self.rows.num_rows
        assert sum(0 < rows < everything for rows, _ in results) > 25
        assert sum(is_exact for _, is_exact in results) >= 6
        random = Random(seed)
        for _ in range(count):
            left, right = random.sample(LAKE_CONDITIONS, 2)
            self.check(f"({left}) {random.choice(('AND', 'OR'))} NOT ({right})")
