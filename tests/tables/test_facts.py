"""What is known of a whole table: exact where the index is exact, and unknown where it is not."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.expr.nodes import Column
from tamis.expr.types import LONG, DataType
from tamis.indexing.format.distinct_sketches import STANDARD_ERROR
from tamis.serve.process.handler import Handler
from tamis.tables.facts import ColumnFacts, TableFacts, table_facts
from tamis.tables.parquet import ParquetTables
from tamis.wire.messages import VERSION, PlanRequest
from tamis.wire.scans import IndexOptions, PartitionColumn, Snapshot, Table
from tests.indexing.local import LocalIndex, spark_schema, uri_of, write_snapshot

TYPES: dict[str, pa.DataType] = {
    "long": pa.int64(),
    "integer": pa.int32(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
    "float": pa.float32(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "decimal(9,2)": pa.decimal128(9, 2),
    "decimal(30,2)": pa.decimal128(30, 2),
    "string": pa.string(),
    "binary": pa.binary(),
}
NAN, INF = math.nan, math.inf


class Scene:
    """A table of one column, `c`, with an index."""

    def __init__(self, tmp_path: Path, data_type: str) -> None:
        self.tmp_path, self.root = tmp_path, tmp_path / "t"
        self.data_type = data_type
        self.tables = ParquetTables()
        self.epoch = 0
        schema = spark_schema(c=data_type)
        self.index = LocalIndex(self.root, schema, tmp_path / "scratch")

    def write(self, *files: Sequence[Any], by: str = "") -> None:
        for number, values in enumerate(files):
            path = self.root / by / f"{number}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"c": pa.array(values, TYPES[self.data_type])}), path)

    def build(self, *kinds: str) -> None:
        columns: Any = {"c": list(kinds)} if kinds else None
        self.index.build(columns=columns, fill_gaps=False)

    def request(self, root: Path | None = None, days: Sequence[Any] = ()) -> PlanRequest:
        self.epoch += 1
        directory = self.tmp_path / f"snapshot{self.epoch}"
        partitions = {"p": pa.array(days, pa.int32())} if days else {}
        fingerprint, files = write_snapshot(root or self.root, directory, partitions)
        return PlanRequest(
            version=VERSION,
            id="q1",
            snapshot=Snapshot(fingerprint, str(directory), files),
            table=Table(
                "t", [uri_of(root or self.root)], [PartitionColumn("p", "integer")] if days else []
            ),
            index=IndexOptions(epoch=self.epoch),
            cache_directory=str(self.tmp_path / "cache"),
        )

    def facts(self, *more: Column, **options: Any) -> TableFacts | None:
        data_type = DataType.parse(self.data_type)
        assert data_type is not None
        scan = self.tables.open_scan(self.request(**options))
        return table_facts(scan, [Column(("c",), data_type), *more])

    def column(self, **options: Any) -> ColumnFacts:
        facts = self.facts(**options)
        assert facts is not None
        return facts.columns[0]


DAY = dt.date(1969, 12, 30)
NOON = dt.datetime(1969, 12, 30, 12)
MICROS = -36 * 3600 * 10**6
CASES: list[tuple[str, list[list[Any]], ColumnFacts]] = [
    ("long", [[3, 5], [None, -4]], ColumnFacts(-4, 5, 1, 3)),
    ("long", [[3, 3], [3]], ColumnFacts(3, 3, 0, 1)),
    ("long", [[None], [None, None]], ColumnFacts(nulls=3, distinct=0)),
    ("long", [[], [7]], ColumnFacts(7, 7, 0, 1)),
    ("long", [[-(2**63), 2**63 - 1]], ColumnFacts(-(2**63), 2**63 - 1, 0, 2)),
    ("boolean", [[True], [False, None]], ColumnFacts(False, True, 1, 2)),
    ("boolean", [[True], [None]], ColumnFacts(True, True, 1, 1)),
    ("double", [[0.5, NAN], [1.5, NAN, None]], ColumnFacts(0.5, 1.5, 1, 3)),
    ("double", [[0.0, -0.0]], ColumnFacts(0.0, 0.0, 0, 1)),
    ("double", [[NAN], [NAN]], ColumnFacts(nulls=0)),
    ("double", [[INF, 1.0]], ColumnFacts(nulls=0)),
    ("float", [[1.5, 2.5]], ColumnFacts(1.5, 2.5, 0, 2)),
    ("date", [[DAY], [None, DAY]], ColumnFacts(-2, -2, 1, 1)),
    ("timestamp", [[NOON], [NOON]], ColumnFacts(MICROS, MICROS, 0, 1)),
    ("timestamp_ntz", [[NOON], [None]], ColumnFacts(nulls=1)),
    ("decimal(9,2)", [[Decimal("-1.25")], [Decimal(3), None]], ColumnFacts(Decimal("-1.25"), Decimal("3.00"), 1, 2)),
    ("decimal(30,2)", [[Decimal("-1.25")], [Decimal(3)]], ColumnFacts(Decimal("-1.25"), Decimal("3.00"), 0, 2)),
    ("string", [["a", None], ["xyz", "a"]], ColumnFacts(None, None, 1, 2, 2, 3)),
    ("string", [[None], [None]], ColumnFacts(nulls=2, distinct=0)),
    ("binary", [[b"", b"abcd"]], ColumnFacts(None, None, 0, 2, 2, 4)),
]  # fmt: skip


@pytest.mark.parametrize(("data_type", "files", "expected"), CASES)
def test_facts_of_a_column(
    tmp_path: Path, data_type: str, files: list[list[Any]], expected: ColumnFacts
) -> None:
    scene = Scene(tmp_path, data_type)
    scene.write(*files)
    scene.build("ndv")
    for _ in range(2):  # computed, then remembered
        assert scene.column() == expected
    facts = scene.facts()
    assert facts is not None
    assert (facts.rows, facts.counts_distinct) == (sum(map(len, files)), True)


def test_many_values_are_estimated(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "long")
    scene.write([k * 1000 for k in range(5000)], [k * 1000 for k in range(3000)])
    scene.build("ndv")
    distinct = scene.column().distinct
    assert distinct is not None
    assert distinct != 5000
    assert distinct == pytest.approx(5000, rel=3 * STANDARD_ERROR)


@pytest.mark.parametrize(
    ("values", "distinct"),
    [
        ([k * 1000 for k in range(5000)], 5000),  # as many as rows
        ([k % 2000 for k in range(9000)], 2000),  # as many as between the bounds
    ],
)
def test_keys_and_dense_columns_are_exact(tmp_path: Path, values: list[int], distinct: int) -> None:
    scene = Scene(tmp_path, "long")
    scene.write(values)
    scene.build("ndv")
    assert scene.column().distinct == distinct


def test_distinct_values_that_are_not_recorded_are_unknown(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "long")
    scene.write([1, 5], [9])
    scene.build("values")
    facts = scene.facts()
    assert facts == TableFacts(3, False, (ColumnFacts(1, 9, 0),))


def test_unknown_statistics_of_a_file_make_the_column_unknown(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "timestamp")
    scene.write([NOON], [NOON])
    path = scene.root / "1.parquet"
    pq.write_table(pq.read_table(path), path, use_deprecated_int96_timestamps=True)
    scene.build()
    assert scene.column() == ColumnFacts()


def test_no_facts_unless_an_index_describes_every_file(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "long")
    scene.write([1, 5], [9])
    assert scene.facts() is None
    scene.build("ndv")
    assert scene.facts() is not None
    scene.write([1, 5], [9, 10])
    assert scene.facts() is None
    scene.index.refresh()
    assert scene.column().greatest == 10
    (scene.root / "2.parquet").write_bytes(b"PAR1 nothing PAR1")
    scene.index.refresh()
    assert scene.facts() is None  # its number of rows is not known


def test_files_that_are_not_listed_do_not_count(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "string")
    scene.write(["a", "bb"], ["cccc"], ["dd", None])
    scene.build("ndv")
    (scene.root / "1.parquet").unlink()
    assert scene.column() == ColumnFacts(None, None, 1, 3, 2, 2)


def test_partition_columns_are_exact(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "long")
    scene.write([1, 2], by="p=1")
    scene.write([3], [4, 5], by="p=2")
    scene.write([], by="p=3")
    scene.write([6, 7, 8], by="p=__HIVE_DEFAULT_PARTITION__")
    scene.build("ndv")
    p = Column(("p",), DataType.parse("integer") or LONG)
    facts = scene.facts(p, days=[1, 2, 3, None])
    assert facts is not None
    assert facts.rows == 8
    assert facts.columns == (ColumnFacts(1, 8, 0, 8), ColumnFacts(1, 2, 3, 2))
    inside = scene.column(root=scene.root / "p=2")
    assert inside == ColumnFacts(3, 5, 0, 3)


def test_columns_that_are_unknown(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "long")
    scene.write([1])
    scene.build("ndv")
    facts = scene.facts(Column(("missing",), LONG))
    assert facts is not None
    assert facts.columns[1] == ColumnFacts()
    scan = scene.tables.open_scan(scene.request())
    assert table_facts(scan, [None]) == TableFacts(1, True, (ColumnFacts(),))


def answer(request: PlanRequest, goal: dict[str, Any]) -> dict[str, Any]:
    import msgspec

    document = json.loads(msgspec.json.encode(request)) | {"goal": goal}
    result: dict[str, Any] = json.loads(Handler().plan(json.dumps(document)))
    return result


def test_facts_on_the_wire(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "decimal(9,2)")
    scene.write([Decimal("-1.25"), None], [Decimal(3)])
    scene.build("ndv")
    column = {"n": "col", "p": ["c"], "t": "decimal(9,2)"}
    opaque = {"n": "opaque", "sql": "d", "t": "long", "cols": [["d"]]}
    goal = answer(scene.request(), {"kind": "facts", "columns": [column, opaque]})["goal"]
    known = {"least": "-1.25", "greatest": "3.00", "nulls": 1, "distinct": 2}
    unknown = dict.fromkeys(("least", "greatest", "nulls", "distinct", "average_length", "longest"))
    assert goal == {
        "kind": "facts",
        "rows": 3,
        "counts_distinct": True,
        "columns": [unknown | known, unknown],
    }
    scene.write([Decimal(1)])
    assert answer(scene.request(), {"kind": "facts", "columns": [column]})["goal"] is None


@pytest.mark.parametrize("goal", [{"kind": "facts"}, {"kind": "facts", "columns": 1}])
def test_malformed_goal_is_refused(tmp_path: Path, goal: dict[str, Any]) -> None:
    scene = Scene(tmp_path, "long")
    scene.write([1])
    assert "cannot be read" in answer(scene.request(), goal)["error"]["text"]
