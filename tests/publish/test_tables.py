"""Published tables: their files, columns, parts and rows, and what is refused."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.expr.nodes import Column, Compare, Comparison, Expr, In, Literal
from tamis.expr.types import DATE, INTEGER, LONG, STRING, TIMESTAMP, DataType
from tamis.files.table import ArrowStatistics
from tamis.publish.column_facts import column_facts
from tamis.publish.errors import PublishError
from tamis.publish.pruning import Snapshot, exact_filters
from tamis.publish.table_statistics import Indexed
from tamis.publish.tables import PublishedTable
from tamis.sources.partitions import partitions_of
from tests.indexing.local import LocalIndex, spark_schema, uri_of


def write(path: Path, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return path


def rows_of(snapshot: Snapshot, *names: str) -> list[dict[str, Any]]:
    columns = names or tuple(snapshot.schema.names)
    return [
        row
        for part in snapshot.surviving()
        for batch in snapshot.reader.batches(part, columns)
        for row in batch.to_pylist()
    ]


def over(name: str, value: Any, data_type: DataType = LONG) -> Expr:
    return Compare(Comparison.GREATER, Column((name,), data_type), Literal(value, data_type))


# --- files ------------------------------------------------------------------------------------


def test_hidden_names_are_left_out(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", n=[1])
    for hidden in ("_SUCCESS", ".a.parquet.crc", "b.parquet._COPYING_", "_tamis/x", ".tmp/y"):
        write(tmp_path / hidden, n=[2])
    write(tmp_path / "_b.parquet", n=[3])
    snapshot = PublishedTable(str(tmp_path)).current()
    assert [file.path for file in snapshot.files] == ["a.parquet"]
    assert rows_of(snapshot) == [{"n": 1}]
    assert snapshot.rows == 1


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["_delta_log/0.json", "a.parquet"], "is a Delta table"),
        (["metadata/v1.metadata.json", "data/a.parquet"], "is an Iceberg table"),
        ([".hoodie/x", "a.parquet"], "is a Hudi table"),
        (["a.parquet", "more/b.parquet"], "more/b.parquet lies in the directory more, which is"),
        (["p=1/a.parquet", "b.parquet"], "has other partition columns"),
        (["p=1/a.parquet", "q=1/b.parquet"], r"q=1 has other partition columns \(q\)"),
        (["p=1/P=2/a.parquet"], "names a partition column twice"),
        (["p=/a.parquet"], "lacks a name or a value"),
        ([], "has no data files"),
        (["_hidden.parquet"], "has no data files"),
        (["README.md"], "README.md cannot be read"),
        (["empty"], "empty cannot be read"),
    ],
)
def test_what_is_not_a_table_of_parquet_files_is_refused(
    tmp_path: Path, names: list[str], says: str
) -> None:
    for name in names:
        if name.endswith(".parquet"):
            write(tmp_path / name, n=[1])
        else:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("" if name == "empty" else "some text")
    with pytest.raises(PublishError, match=says):
        PublishedTable(str(tmp_path)).current()


def test_what_does_not_exist_or_is_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PublishError, match="does not exist"):
        PublishedTable(str(tmp_path / "nowhere")).current()
    file = write(tmp_path / "a.parquet", n=[1])
    with pytest.raises(PublishError, match="is not a directory"):
        PublishedTable(str(file)).current()
    with pytest.raises(PublishError, match="cannot reach"):
        PublishedTable("telnet://host/table")


def test_new_files_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.publish.tables._RELIST", 0.0)
    monkeypatch.setattr("tamis.publish.tables._SHARE", 0.0)
    table = PublishedTable(str(tmp_path))
    first = write(tmp_path / "a.parquet", n=pa.array([1], pa.int32()))
    before = table.current()
    assert table.current() is before
    write(tmp_path / "b.parquet", n=[2**40], m=["x"])
    assert rows_of(table.current()) == [{"n": 1, "m": None}, {"n": 2**40, "m": "x"}]
    assert rows_of(before) == [{"n": 1}]
    assert exact_filters(table.current().surviving([over("n", 0)]), 1) == [0]
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    assert table.current().surviving() == ()
    assert table.current().schema.names == ["n", "m"]
    assert first.name == "a.parquet"


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.unlink(),
        lambda path: write(path, n=[9, 9, 9, 9]),
        lambda path: write(path, n=[9]),
        lambda path: os.utime(path, (1, 1)),
    ],
    ids=["deleted", "overwritten", "shortened", "touched"],
)
def test_changed_file_is_an_error(tmp_path: Path, change: Any) -> None:
    path = write(tmp_path / "a.parquet", n=[1, 2, 3, 4])
    snapshot = PublishedTable(str(tmp_path)).current()
    change(path)
    with pytest.raises(PublishError, match=r"a\.parquet (was deleted|has changed)"):
        rows_of(snapshot)


@pytest.mark.parametrize("seconds", [0, 1, 315_532_800])
def test_files_with_the_times_of_archives_are_read_again(tmp_path: Path, seconds: int) -> None:
    """Another version may have the same size, and has the same time."""
    table = PublishedTable(str(tmp_path / "t"))
    for n in (1, 9):
        path = write(tmp_path / "t" / "a.parquet", n=[n])
        os.utime(path, (seconds, seconds))
        table._snapshot = table._renewed()
        assert len(table._snapshot.surviving([over("n", 5)])) == (n > 5)


# --- partitions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "data_type", "values"),
    [
        (["1", "-2", "007"], pa.int32(), [1, -2, 7]),
        (["1", str(2**40)], pa.int64(), [1, 2**40]),
        (["1", "1.5", "2e3"], pa.float64(), [1.0, 1.5, 2000.0]),
        ([str(2**40), "1.5"], pa.string(), [str(2**40), "1.5"]),
        ([str(2**70)], pa.string(), [str(2**70)]),
        (["2026-01-31"], pa.date32(), [date(2026, 1, 31)]),
        (["2026-01-31", "1"], pa.string(), ["2026-01-31", "1"]),
        (["2026-02-31"], pa.string(), ["2026-02-31"]),
        (["1", "__HIVE_DEFAULT_PARTITION__"], pa.int32(), [1, None]),
        (["__HIVE_DEFAULT_PARTITION__"], pa.string(), [None]),
        (["a%3Ab%20", "c=d", "100%"], pa.string(), ["a:b ", "c=d", "100%"]),
        (["1_000", "٣"], pa.string(), ["1_000", "٣"]),
    ],
)
def test_types_of_partition_values(texts: list[str], data_type: Any, values: list[Any]) -> None:
    column = partitions_of([f"p={text}" for text in texts], "t").values["p"]
    assert column.type == data_type
    assert column.to_pylist() == values


def test_partition_value_replaces_a_column_of_the_files(tmp_path: Path) -> None:
    write(tmp_path / "p=1" / "a.parquet", P=["own"], n=[1])
    snapshot = PublishedTable(str(tmp_path)).current()
    assert rows_of(snapshot) == [{"n": 1, "p": 1}]
    assert rows_of(snapshot, "p") == [{"p": 1}]


# --- schemas ------------------------------------------------------------------------------------

US, MS, NS = (pa.timestamp(unit) for unit in ("us", "ms", "ns"))


@pytest.mark.parametrize(
    ("left", "right", "merged"),
    [
        (pa.int8(), pa.int64(), pa.int64()),
        (pa.uint16(), pa.uint8(), pa.uint16()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.decimal128(9, 2), pa.decimal128(30, 2), pa.decimal128(30, 2)),
        (pa.string(), pa.large_string(), pa.string()),
        (pa.dictionary(pa.int8(), pa.string()), pa.string(), pa.string()),
        (pa.null(), pa.string(), pa.string()),
        (pa.null(), pa.null(), pa.int32()),
        (MS, US, US),
        (pa.timestamp("us", "Europe/Paris"), pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC")),
        (pa.struct({"a": pa.int8()}), pa.struct({"A": pa.int64(), "b": pa.string()}),
         pa.struct({"a": pa.int64(), "b": pa.string()})),
        (pa.list_(pa.int8()), pa.large_list(pa.int16()), pa.list_(pa.int16())),
        (pa.int32(), pa.string(), None),
        (pa.int32(), pa.float64(), None),
        (pa.int64(), pa.uint64(), None),
        (pa.decimal128(9, 2), pa.decimal128(9, 3), None),
        (US, pa.timestamp("us", "UTC"), None),
        (US, NS, None),
        (pa.date32(), US, None),
        (pa.struct({"a": pa.int8()}), pa.struct({"a": pa.string()}), None),
        (pa.list_(pa.int8()), pa.int8(), None),
    ],
    ids=str,
)  # fmt: skip
def test_types_of_files_are_merged(tmp_path: Path, left: Any, right: Any, merged: Any) -> None:
    for name, data_type in (("a", left), ("b", right)):
        table = pa.table({"c": pa.nulls(1, data_type), "row": [name]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    table = PublishedTable(str(tmp_path))
    if merged is None:
        with pytest.raises(PublishError, match=r"b\.parquet has the type .* for [ac], but other"):
            table.current()
        return
    snapshot = table.current()
    assert snapshot.schema.field("c").type == merged
    assert rows_of(snapshot) == [{"c": None, "row": "a"}, {"c": None, "row": "b"}]


def test_columns_may_be_missing_and_be_spelled_in_any_case(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", n=[1, 2], s=["a", "b"], **{"x.y": [5, 6]})
    write(tmp_path / "b.parquet", N=pa.array([3], pa.int8()), x=[{"y": 7}])
    snapshot = PublishedTable(str(tmp_path)).current()
    assert snapshot.schema.names == ["n", "s", "x.y", "x"]
    assert rows_of(snapshot, "x", "x.y", "n") == [
        {"n": 1, "x.y": 5, "x": None},
        {"n": 2, "x.y": 6, "x": None},
        {"n": 3, "x.y": None, "x": {"y": 7}},
    ]
    facts = column_facts(snapshot.statistics, snapshot.schema.field("s"))
    assert (facts.minimum.as_py(), facts.can_be_null) == ("a", True)


def test_columns_that_differ_in_case_only_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", n=[1], N=[2])
    with pytest.raises(PublishError, match="names differ from n in case only"):
        PublishedTable(str(tmp_path)).current()


def test_int96_is_a_timestamp_in_utc(tmp_path: Path) -> None:
    moments = [datetime(2020, 1, 1, 12), datetime(1801, 3, 1, 1, 2, 3, 4), None]
    table = pa.table({"t": pa.array(moments, US), "s": [{"t": each} for each in moments]})
    pq.write_table(table, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    write(tmp_path / "b.parquet", t=pa.array([moments[0]], pa.timestamp("us", "UTC")))
    snapshot = PublishedTable(str(tmp_path)).current()
    assert snapshot.schema.field("t").type == pa.timestamp("us", "UTC")
    expected = [None if each is None else each.replace(tzinfo=UTC) for each in moments]
    assert [row["t"] for row in rows_of(snapshot, "t")] == [*expected, expected[0]]
    assert [row["s"] and row["s"]["t"] for row in rows_of(snapshot)][:3] == expected
    assert len(snapshot.surviving([over("t", 0, TIMESTAMP)])) == 2


# --- parts and statistics -----------------------------------------------------------------------


def table_of_numbers(root: Path) -> Path:
    write(root / "p=1" / "a.parquet", n=[1, 2, 3, 4, 5, 6], s=list("abcdef"))
    write(root / "p=2" / "b.parquet", n=[7, 8, None, None], s=["x", None, "x", "y"])
    return root


@pytest.mark.parametrize(
    ("filters", "groups", "exact"),
    [
        ([], {"a": (0, 1, 2), "b": (0, 1)}, []),
        ([over("n", 2)], {"a": (1, 2), "b": (0,)}, [0]),
        ([over("n", 3)], {"a": (1, 2), "b": (0,)}, []),
        ([over("n", 3), over("p", 1, INTEGER)], {"b": (0,)}, [0, 1]),
        ([over("n", 100)], {}, [0]),
        ([over("s", "f", STRING)], {"b": (0, 1)}, []),
    ],
)
def test_row_groups_that_cannot_match_are_left_out(
    tmp_path: Path, filters: list[Expr], groups: dict[str, Any], exact: list[int]
) -> None:
    snapshot = PublishedTable(str(table_of_numbers(tmp_path))).current()
    parts = snapshot.surviving(filters)
    assert {part.file.path[4]: part.row_groups for part in parts} == groups
    assert exact_filters(parts, len(filters)) == exact
    assert all(part.rows == 2 * len(part.row_groups or ()) for part in parts)


def test_whole_files_are_exact_only_if_all_of_their_rows_pass(tmp_path: Path) -> None:
    snapshot = PublishedTable(str(table_of_numbers(tmp_path))).current()
    parts = snapshot.surviving([over("n", 2)], whole_files=True)
    assert [part.row_groups for part in parts] == [(0, 1, 2), (0, 1)]
    assert [part.matches for part in parts] == [(False,), (False,)]
    (part,) = snapshot.surviving([over("p", 1, INTEGER)], whole_files=True)
    assert part.matches == (True,)


def test_filter_that_cannot_be_evaluated_keeps_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = PublishedTable(str(table_of_numbers(tmp_path))).current()
    monkeypatch.setattr("tamis.publish.pruning.narrow", lambda *_: 1 / 0)
    parts = snapshot.surviving([over("n", 100)])
    assert [(part.rows, part.matches) for part in parts] == [(6, (False,)), (4, (False,))]


def test_column_statistics_cover_all_files(tmp_path: Path) -> None:
    snapshot = PublishedTable(str(table_of_numbers(tmp_path))).current()
    facts = {field.name: column_facts(snapshot.statistics, field) for field in snapshot.schema}
    assert [(f.minimum.as_py(), f.maximum.as_py(), f.can_be_null) for f in facts.values()] == [
        (1, 8, True), ("a", "y", True), (1, 2, False),
    ]  # fmt: skip


# --- the index ----------------------------------------------------------------------------------


def test_index_is_used_for_files_that_have_not_changed(tmp_path: Path) -> None:
    root = tmp_path / "t"
    write(root / "a.parquet", a=[1, 5, 9, 13])
    changed = write(root / "b.parquet", a=[1, 5, 9, 13])
    LocalIndex(root, spark_schema(a="long"), tmp_path).build(columns={"a": ["values"]})
    one = In(Column(("a",), LONG), (7, 8))
    cache = str(tmp_path / "cache")
    table = PublishedTable(str(root), cache_directory=cache)
    assert table._source.directory_uri == uri_of(root)
    # only the list of values shows that the row group of 5 and 9 has none of them
    assert table.current().surviving([one]) == ()
    write(changed, a=[7, 8, 9, 10, 11])
    parts = PublishedTable(str(root), cache_directory=cache).current().surviving([one])
    assert [(part.file.path, part.row_groups) for part in parts] == [("b.parquet", (0,))]


def test_index_of_other_case_rules_is_not_used(tmp_path: Path) -> None:
    root = tmp_path / "t"
    write(root / "x.parquet", a=[1, 2])
    # for this index a file without the column
    pq.write_table(pa.table({"A": [5, 6]}), root / "y.parquet", write_statistics=False)
    LocalIndex(root, spark_schema(a="long"), tmp_path, case_sensitive=True).build()
    table = PublishedTable(str(root), cache_directory=str(tmp_path / "cache"))
    parts = table.current().surviving([over("a", 3)])
    assert [part.file.path for part in parts] == ["y.parquet"]


@pytest.mark.parametrize("version", [None, "4.1.3"])
def test_index_of_dates_is_used_if_spark_reads_them_as_they_are_stored(
    tmp_path: Path, version: str | None
) -> None:
    """Spark may convert old dates, so its statistics may be of other days than those in a file."""
    root = tmp_path / "t"
    path = root / "a.parquet"
    metadata = {} if version is None else {"org.apache.spark.version": version}
    schema = pa.schema({"d": pa.date32()}, metadata)
    days = [date(1501, 1, 10), date(1501, 1, 1)]
    for place, day in enumerate(days):
        table = pa.table([[day, date(2020, 1, 1)]], schema=schema)
        path.parent.mkdir(exist_ok=True)
        pq.write_table(table, path, use_dictionary=False, compression="none")
        os.utime(path, (10**9, 10**9))
        if place == 0:
            index = LocalIndex(root, spark_schema(d="date"), tmp_path)
            index.build(columns={"d": ["bounds"]})
    stored = (days[1] - date(1970, 1, 1)).days
    table = PublishedTable(str(root), cache_directory=str(tmp_path / "cache"))
    early = Compare(Comparison.LESS, Column(("d",), DATE), Literal(stored + 5, DATE))
    parts = table.current().surviving([early])
    assert len(parts) == (1 if version is None else 0)


def test_index_is_not_used_for_columns_with_a_default_value() -> None:
    """Spark returns the default for files that lack the column, and the server NULL."""
    counts = {"num_records": [3], "null_count.c": [0]}
    footers = ArrowStatistics(pa.table({**counts, "min.c": [0], "max.c": [9]}))
    index = ArrowStatistics(pa.table({**counts, "min.c": [7], "max.c": [7]}))
    for defaults, least in ({("c",)}, 0), (set(), 7):
        both = Indexed(footers, index, frozenset(defaults), moments=True)
        assert both.bounds(Column(("c",), LONG)).lower.tolist() == [least]
