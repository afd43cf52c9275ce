"""Published tables over VGI: their rows, splits, statistics and files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.publish.errors import PublishError
from tamis.publish.tables import PublishedTable
from tamis.publish.vgi.catalog import Catalog, PublishedRows
from tamis.publish.vgi.functions.table_function import BoundFunction, TableFunction
from tamis.publish.vgi.refusals import Refused
from tamis.publish.vgi.requests.function_calls import Calls
from tamis.publish.vgi.requests.scan_batches import Scan
from tamis.publish.vgi.serve_command import catalog_of
from tamis.remote.vgi.protocol import records
from tamis.remote.vgi.protocol.framing import batch_of
from tamis.wire.vgi import Filters
from tests.publish.random_filters import SCHEMA, Filter, random_rows
from tests.publish.vgi_calls import arguments, bind_call
from tests.wire.vgi.documents import batch, column, comparison, literal, predicate, snapshot

FILTERS = 60
ROWS = 400
PATHS = ("a.parquet", "b.parquet", "c.parquet", "d.parquet")


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """Rows with random values, in the order of `i`, so that row groups differ."""
    table = pa.Table.from_batches([random_rows(Random(7), ROWS)]).sort_by("i")
    table = table.drop_columns(["iv"])  # not a type of Parquet files
    return table.append_column("row", pa.array(range(ROWS), pa.int64()))


@pytest.fixture(scope="module")
def catalog(rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("vgi") / "t"
    for place, name in enumerate(PATHS):
        path = folder / f"part={place % 2}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = rows.slice(place * ROWS // 4, ROWS // 4)
        pq.write_table(part, path, row_group_size=25)
    return catalog_of("tamis", {"t": str(folder)})


def bound(catalog: Catalog, function: str = "scan", **values: Any) -> BoundFunction:
    return catalog.functions[function].bind({"table": "t", "filter": "", **values})


def read(scan: Scan) -> pa.Table:
    batches = []
    while (found := scan.next({})) is not None:
        batches.append(found)
    return pa.Table.from_batches(batches, schema=scan.schema)


def test_columns_are_those_of_the_files_and_partitions(catalog: Catalog, rows: pa.Table) -> None:
    schema = bound(catalog).schema
    assert schema.names == [*SCHEMA.names[:-1], "row", "part"]
    assert bound(catalog).cardinality() == rows.num_rows


def test_random_filters_return_the_rows_that_duckdb_returns(
    catalog: Catalog, rows: pa.Table
) -> None:
    random = Random(20261125)
    function = bound(catalog)
    place = function.schema.get_field_index("row")
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("c", rows)
    pruned = evaluated = 0
    for _ in range(FILTERS):
        made = Filter(random)
        node, sql = made.predicate()
        if '"iv"' in sql:
            continue
        filters = Filters.snapshot(made.content(node), function.schema)
        evaluated += 1
        connection.register("v", pa.table(made.payloads or {"value_0": pa.nulls(1)}))
        expected = connection.execute(f"SELECT row FROM c, v WHERE {sql} ORDER BY row").fetchall()
        wanted = [row for (row,) in expected]
        found = read(Scan(function, filters, [place]))["row"].to_pylist()
        assert sorted(found) == wanted, sql
        splits = function.splits(list(filters.predicates.values()))
        by_split = [
            row
            for each in splits
            for row in read(Scan(function, filters, [place], tokens=[each.token]))[
                "row"
            ].to_pylist()
        ]
        assert sorted(by_split) == wanted, sql
        pruned += sum(each.rows or 0 for each in splits) < rows.num_rows
    assert evaluated > 0.8 * FILTERS
    # A worker that reads everything would pass the rest of this test.
    assert pruned >= FILTERS / 10


def test_projection_keeps_the_order_and_the_number_of_rows(
    catalog: Catalog, rows: pa.Table
) -> None:
    function = bound(catalog)
    names = function.schema.names
    chosen = [names.index("part"), names.index("n"), names.index("i")]
    found = read(Scan(function, None, chosen))
    assert found.column_names == ["part", "n", "i"]
    assert sorted(set(found["part"].to_pylist())) == [0, 1]
    scan, count = Scan(function, None, []), 0
    while (part := scan.next({})) is not None:
        assert part.num_columns == 0
        count += part.num_rows
    assert count == rows.num_rows


def test_limit_ends_the_scan_of_a_worker(catalog: Catalog) -> None:
    assert read(Scan(bound(catalog), None, [0], limit=30)).num_rows == 30


def plan(catalog: Catalog, **options: Any) -> dict[str, Any]:
    call = bind_call("scan", arguments(["t"]))
    body = records.PLAN_REQUEST.pack(bind_call=call, **options)
    return records.PLANNED.unpack(Calls(catalog).plan(body))


def test_as_many_splits_as_the_client_wants(catalog: Catalog) -> None:
    assert len(plan(catalog)["splits"]) == 1
    assert 4 <= len(plan(catalog, min_splits=4)["splits"]) <= 8
    assert len(plan(catalog, min_splits=1000)["splits"]) == 16
    assert len(plan(catalog, target_split_bytes=-1)["splits"]) == 1


def test_splits_are_listed_in_pages(catalog: Catalog) -> None:
    whole = plan(catalog, target_split_bytes=1)
    assert whole["next_cursors"] is None
    tokens = [records.SPLIT.unpack(each)["token"] for each in whole["splits"]]
    assert len(tokens) == 16
    assert whole["estimated_total_splits"] == 16
    paged, cursor = [], None
    while True:
        page = plan(catalog, cursor=cursor, max_splits_per_response=5, target_split_bytes=1)
        assert len(page["splits"]) <= 5
        paged += [records.SPLIT.unpack(each)["token"] for each in page["splits"]]
        if page["next_cursors"] is None:
            break
        (cursor,) = page["next_cursors"]
    assert paged == tokens
    function = bound(catalog)
    place = function.schema.get_field_index("row")
    found = [
        row
        for each in tokens
        for row in read(Scan(function, None, [place], tokens=[each]))["row"].to_pylist()
    ]
    assert sorted(found) == list(range(ROWS))
    with pytest.raises(Refused, match="SPLIT_TOKEN_INVALID"):
        plan(catalog, cursor=b"x" * 40 + b"y")
    with pytest.raises(Refused, match="SPLIT_SNAPSHOT_EXPIRED"):
        plan(catalog, cursor=(1).to_bytes(8, "big") + b"y" * 32)


def forged(files: Any, version: object = "") -> bytes:
    content = files if isinstance(files, bytes) else json.dumps([version, files]).encode()
    return len(content).to_bytes(4, "big") + pa.compress(content, "zstd", asbytes=True)


def test_tokens_that_were_tampered_with_are_refused(catalog: Catalog) -> None:
    function = bound(catalog)
    (split,) = function.splits([])
    content = pa.decompress(split.token[4:], int.from_bytes(split.token[:4], "big"), "zstd")
    entries = json.loads(content.to_pybytes())
    version, [[path, size, time, groups], *_] = entries
    assert version == ""
    wrong: Sequence[tuple[bytes, str]] = [
        (b"", "INVALID"),
        (b"garbage", "INVALID"),
        (b"\xff\xff\xff\xff" + split.token[4:], "INVALID"),
        (split.token[:-3], "INVALID"),
        (forged(b"[" * 100_000), "INVALID"),
        (forged({}), "INVALID"),
        (forged([], 5), "INVALID"),
        (forged([], "5"), "EXPIRED"),
        (forged([[path, size, time]]), "INVALID"),
        (forged([[path, size, time, [-1]]]), "INVALID"),
        (forged([[path, size, time, [True]]]), "INVALID"),
        (forged([[path, size, time, ["0"]]]), "INVALID"),
        (forged([["../../etc/passwd", size, time, groups]]), "EXPIRED"),
        (forged([["/etc/passwd", size, time, None]]), "EXPIRED"),
        (forged([[path, size + 1, time, groups]]), "EXPIRED"),
        (forged([[path, size, time + 1, groups]]), "EXPIRED"),
    ]
    for token, text in wrong:
        with pytest.raises(Refused, match=text):
            Scan(function, None, [0], tokens=[token])
    assert (
        read(Scan(function, None, [0], tokens=[forged([[path, size, time, [99]]])])).num_rows == 0
    )


def test_file_changed_after_planning_fails_the_scan(tmp_path: Path) -> None:
    path = tmp_path / "t" / "a.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"n": [1, 2, 3]}), path)
    table = PublishedTable(str(path.parent))
    catalog = catalog_of("tamis", {"t": str(path.parent)})
    (split,) = bound(catalog).splits([])
    pq.write_table(pa.table({"n": [1, 2, 3, 4]}), path)
    os.utime(path, ns=(1, 1))
    fresh = catalog_of("tamis", {"t": str(path.parent)})
    with pytest.raises(Refused, match="SPLIT_SNAPSHOT_EXPIRED"):
        Scan(bound(fresh), None, tokens=[split.token])
    assert table.current().rows == 4


def test_statistics_are_bounds_of_the_rows(catalog: Catalog, rows: pa.Table) -> None:
    body = catalog.column_statistics(["main"], "t")
    assert body is not None
    known = {each["column_name"]: each for each in batch_of(body, "statistics").to_pylist()}
    assert set(known) == set(bound(catalog).schema.names)
    connection = duckdb.connect()
    connection.register("c", rows)
    for name in ("i", "n", "d", "day", "t", "h"):
        least, greatest, nulls = connection.execute(
            f'SELECT min("{name}"), max("{name}"), count(*) - count("{name}") FROM c'
        ).fetchone()  # type: ignore[misc]
        assert (known[name]["min"], known[name]["max"]) == (least, greatest), name
        assert known[name]["has_null"] is (nulls > 0)
    assert known["row"]["has_null"] is False
    assert (known["part"]["min"], known["part"]["max"]) == (0, 1)
    # NaN is the greatest value, and not part of the bounds in footers.
    assert (known["x"]["max"], known["f"]["max"]) == (None, None)


#: A filter, and the verdicts of the files in the order of their paths.
VERDICTS = [
    ("part = 0", ["all", "none", "all", "none"]),
    ("part = 0 AND row < 100", ["all", "none", "none", "none"]),
    ("row BETWEEN 50 AND 320", ["some", "all", "all", "some"]),
    ("NOT (row >= 100) OR part IN (1, 7)", ["all", "all", "none", "all"]),
    ("row IS NULL", ["none"] * 4),
    ("row IS NOT NULL AND i > 3000000000", ["none"] * 4),
    ("row > 1.5", ["some", "all", "all", "all"]),
    ("\"row\" <> 5 OR s = 'it''s'", ["some", "all", "all", "all"]),
    ("day > DATE '2031-01-01'", ["none"] * 4),
]


@pytest.mark.parametrize(("text", "verdicts"), VERDICTS, ids=lambda each: str(each)[:40])
def test_verdicts_of_files(catalog: Catalog, text: str, verdicts: list[str]) -> None:
    found = read(Scan(bound(catalog, "files", filter=text), None)).to_pylist()
    by_name = {each["path"].rpartition("/")[2]: each for each in found}
    assert [by_name[name]["verdict"] for name in PATHS] == verdicts
    assert all(each["reason"] for each in found)


def test_files_have_sizes_rows_and_bounds(catalog: Catalog) -> None:
    found = read(Scan(bound(catalog, "files"), None)).to_pylist()
    assert [each["path"] for each in found] == sorted(each["path"] for each in found)
    first = next(each for each in found if each["path"].endswith("a.parquet"))
    assert (first["rows"], first["row_groups"], first["verdict"]) == (100, 4, None)
    assert (first["min.row"], first["max.row"], first["max.part"]) == (0, 99, 0)
    content = batch(
        snapshot(predicate(comparison("gt", column(3, "rows"), literal(0)))),
        {"value_0": pa.array([100])},
    )
    function = bound(catalog, "files")
    assert read(Scan(function, Filters.snapshot(content, function.schema), [0])).num_rows == 0


MALFORMED = [
    "row =",
    "row = 'x'",
    "nope = 1",
    "row = 1 1",
    "(row = 1",
    "l = 1",
    "s LIKE '%a_'",
    "%",
]


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_filters_of_files_are_refused(catalog: Catalog, text: str) -> None:
    with pytest.raises(Refused):
        bound(catalog, "files", filter=text)


def test_unknown_tables_are_refused(catalog: Catalog) -> None:
    with pytest.raises(Refused, match="no table 'x'"):
        bound(catalog, table="x")
    assert records.ITEMS.unpack(catalog.table_get(["main"], "x", None))["items"] == []


class Unreadable(TableFunction):
    name = "unreadable"
    arguments = ()

    def bind(self, arguments: Mapping[str, Any]) -> BoundFunction:
        raise PublishError("the storage is gone")


def test_unreadable_table_does_not_hide_the_others(catalog: Catalog) -> None:
    tables = {"gone": PublishedRows("gone", Unreadable(), ()), **catalog.tables}
    listed = Catalog("tamis", catalog.functions, tables).contents_tables(["main"])
    items = records.ITEMS.unpack(listed)["items"]
    assert [records.TABLE_INFO.unpack(each)["name"] for each in items] == ["t"]
