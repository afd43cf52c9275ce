"""Eligible readings, the readings an index serves, and the errors for all others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.expr.nodes import Column, Expr, IsNull, Not
from tamis.expr.types import DOUBLE, FLOAT, LONG
from tamis.indexing.build.listing import TableListing
from tamis.indexing.build.rows.row_columns import row_leaves
from tamis.indexing.read.command_options import command_options, ddl_of
from tamis.indexing.read.reader_options import (
    Reading,
    difference,
    loses_rows_to,
    reading_of,
    refusal,
)
from tamis.tables.parquet import ParquetTables
from tamis.tables.scan_input import ScanInput
from tamis.wire.messages import PlanRequest
from tamis.wire.scans import IndexOptions, Snapshot, Table
from tests.indexing.local import LocalIndex, spark_schema, uri_of, write_snapshot

SCHEMA = spark_schema(a="long")
CSV = Reading("csv", SCHEMA, spark_schema(), {"sep": ";"}, {"zone": "UTC"}, {"java": "17"})


def changed(**fields: Any) -> Reading:
    return msgspec.structs.replace(CSV, **fields)


DIFFERENT = [
    (changed(format="json"), "the format was csv and now is json"),
    (changed(schema=spark_schema(a="string")), "column a was long and now is string"),
    (changed(schema=spark_schema(a="string", b="long")), "is string, column b was added"),
    (changed(schema=spark_schema(a={"b": "long"})), "column a was long and now is struct"),
    (changed(schema="nonsense"), "column a was removed"),
    (changed(partitions=spark_schema(p="long")), "partition column p was added"),
    (changed(options={}), "option sep was ; and now is not set"),
    (changed(options={"sep": "\n"}), r"option sep was ; and now is \n"),
    (changed(options={"sep": ";", "quote": "'"}), "option quote was not set and now is '"),
    (changed(confs={"zone": "CET"}), "zone was UTC and now is CET"),
    (changed(machine={"java": "21"}), "the driver's java was 17 and now is 21"),
    (changed(options={str(k): "x" for k in range(5)}), ", and 3 more"),
]


@pytest.mark.parametrize(("now", "text"), DIFFERENT, ids=[text for _, text in DIFFERENT])
def test_difference_is_described(now: Reading, text: str) -> None:
    description = difference(CSV, now)
    assert description is not None
    assert text in description


def test_equal_readings_have_no_difference() -> None:
    assert difference(CSV, reading_of(msgspec.json.encode(CSV))) is None


REFUSED = [
    (changed(format="org.apache.spark.sql.avro.AvroFileFormat"), "AvroFileFormat"),
    (changed(options={"mode": "failFast"}), "FAILFAST"),
    (changed(format="json", options={"mode": "DROPMALFORMED"}), "DROPMALFORMED"),
    (changed(options={"encoding": "UTF-16LE"}), "UTF-16LE"),
    (changed(options={"charset": "EBCDIC"}), "EBCDIC"),
    (changed(options={"ignoremissingfiles": "TRUE"}), "ignore"),
    (changed(confs={"spark.sql.files.ignoreCorruptFiles": "true"}), "ignore"),
    (changed(format="json", options={"singlevariantcolumn": "v"}), "singleVariantColumn"),
]


@pytest.mark.parametrize(("reading", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_ineligible_readings_are_refused(reading: Reading, text: str) -> None:
    text_of_refusal = refusal(reading, overlapping=False)
    assert text_of_refusal is not None
    assert text in text_of_refusal


def test_eligible_readings_are_accepted() -> None:
    for reading in (
        CSV,
        changed(format="orc", options={"mode": "FAILFAST"}),
        changed(format="json"),
    ):
        assert refusal(reading, overlapping=False) is None
        assert refusal(reading, overlapping=True) is not None
    assert refusal(changed(options={"mode": "anything", "encoding": "Utf-8"}), False) is None


@pytest.mark.parametrize(
    ("file_format", "expr", "loses"),
    [
        ("csv", Column(("d",), DOUBLE), False),
        ("json", Column(("a",), LONG), True),
        ("orc", Column(("a",), LONG), False),
        ("orc", Column(("d",), DOUBLE), True),
        ("orc", Not(IsNull(Column(("d",), FLOAT))), True),
        ("orc", IsNull(Column(("a",), LONG)), False),
        ("orc", IsNull(Column(("s", "a"), LONG)), True),
        ("csv", IsNull(Column(("s", "a"), LONG)), False),
    ],
)
def test_filters_that_lose_rows_depend_on_the_format(
    file_format: str, expr: Expr, loses: bool
) -> None:
    assert loses_rows_to(changed(format=file_format), expr) == loses
    off = (
        "spark.sql.orc.filterPushdown"
        if file_format == "orc"
        else f"spark.sql.{file_format}.filterPushdown.enabled"
    )
    assert not loses_rows_to(changed(format=file_format, confs={off: "false"}), expr)


def field_of(name: str, kind: Any, **metadata: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def struct_of(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


DDL = [
    ([field_of("a", "long"), field_of("d", "decimal(9,2)")], "a LONG, d DECIMAL(9,2)"),
    ([field_of("a b`c", "string")], "`a b``c` STRING"),
    ([field_of("s", struct_of(field_of("x", "date")))], "s STRUCT<x: DATE>"),
    ([field_of("l", {"type": "array", "elementType": "integer"})], "l ARRAY<INTEGER>"),
    (
        [field_of("m", {"type": "map", "keyType": "string", "valueType": "timestamp_ntz"})],
        "m MAP<STRING, TIMESTAMP_NTZ>",
    ),
    ([field_of("c", "string", __CHAR_VARCHAR_TYPE_STRING="char(3)")], None),
    ([field_of("u", {"type": "udt", "class": "x"})], None),
    ([field_of(f"column{i}", "long") for i in range(100)], None),
]


@pytest.mark.parametrize(("fields", "ddl"), DDL)
def test_schema_as_ddl(fields: list[dict[str, Any]], ddl: str | None) -> None:
    schema = json.dumps(struct_of(*fields))
    assert ddl_of(schema) == ddl
    options = command_options(changed(schema=schema, options={}, confs={}))
    assert options == ("--format", "csv", "--schema", ddl or "DDL")


def test_options_of_a_command_repeat_the_reading() -> None:
    zone = "spark.sql.session.timeZone"
    reading = changed(
        schema="",
        options={"sep": ";", "password": "sha256 0f0f"},
        confs={zone: "UTC", "spark.sql.ansi.enabled": "false", "hadoop orc.x": "1"},
        machine={"zone": "UTC"},
    )
    pairs = command_options(reading)[4:]
    assert pairs == (
        "--option", "sep=;", "--option", "password=VALUE", "--conf", "spark.sql.ansi.enabled=false"
    )  # fmt: skip
    elsewhere = msgspec.structs.replace(reading, machine={"zone": "Asia/Tokyo"})
    assert f"{zone}=UTC" in command_options(elsewhere)
    assert command_options(None) == ()


def test_ineligible_columns_are_left_out() -> None:
    field = field_of
    char = "__CHAR_VARCHAR_TYPE_STRING"
    inner = {"type": "struct", "fields": [field("x", "integer"), field("c", "string")]}
    fields = [
        field("a", "long"),
        field("c", "string", **{char: "char(3)"}),
        field("v", "string", **{char: "varchar(3)"}),
        field("s", inner),
        field("with_char", inner, **{char: "struct<x:int,c:char(3)>"}),
        field("d", "long", EXISTS_DEFAULT="1"),
        field("e", "long", CURRENT_DEFAULT="1"),
        field("t", "timestamp"),
        field("n", "timestamp_ntz"),
        field("collated", "string", __COLLATIONS="x"),
        field("bad", "string"),
        field("l", {"type": "array", "elementType": "integer", "containsNull": True}),
    ]
    schema = msgspec.json.encode({"type": "struct", "fields": fields}).decode()
    names = [leaf.name for leaf in row_leaves(schema, CSV, "bad")]
    assert names == ["a", "v", "s.x", "s.c", "n"]
    formatted = changed(options={"timestampformat": "yyyy-MM-dd HH:mm:ss"})
    names = [leaf.name for leaf in row_leaves(schema, formatted, "bad")]
    assert names == ["a", "v", "s.x", "s.c", "t", "n"]
    for reading in (
        changed(options={**formatted.options, "enabledatetimeparsingfallback": "true"}),
        msgspec.structs.replace(
            formatted, confs={"spark.sql.legacy.csv.enableDateTimeParsingFallback": "true"}
        ),
    ):
        assert "t" not in [leaf.name for leaf in row_leaves(schema, reading, "bad")]
    legacy = msgspec.structs.replace(
        formatted, confs={"spark.sql.legacy.timeParserPolicy": "LEGACY"}
    )
    assert {"t", "n"}.isdisjoint(leaf.name for leaf in row_leaves(schema, legacy, "bad"))
    names_of_orc = [leaf.name for leaf in row_leaves(schema, changed(format="orc"), None)]
    assert names_of_orc == ["a", "v", "s.x", "s.c", "bad"]


class IndexOfReading(LocalIndex):
    """An index that was built for a reading."""

    reading: Reading | None = CSV

    def _list(self) -> TableListing:
        return replace(super()._list(), reading=self.reading)


@pytest.fixture
def index(tmp_path: Path) -> IndexOfReading:
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "t" / "0.parquet")
    return IndexOfReading(tmp_path / "t", SCHEMA, tmp_path / "scratch")


def open_scan_of(
    index: IndexOfReading, tmp_path: Path, reading: Reading | None, epoch: int
) -> ScanInput:
    directory = tmp_path / f"snapshots{epoch}"
    fingerprint, files = write_snapshot(index.root, directory)
    request = PlanRequest(
        version=1,
        id="1",
        snapshot=Snapshot(fingerprint, str(directory), files),
        table=Table("t", [uri_of(index.root)]),
        index=IndexOptions(epoch=epoch),
        cache_directory=str(tmp_path / "cache"),
        reading=None if reading is None else msgspec.json.encode(reading).decode(),
    )
    return ParquetTables().open_scan(request)


@pytest.mark.parametrize("built", [None, CSV], ids=["of Parquet", "of CSV"])
def test_index_serves_only_its_own_reading(
    index: IndexOfReading, tmp_path: Path, built: Reading | None
) -> None:
    index.reading = built
    index.build()
    outcomes = {}
    for epoch, now in enumerate((None, CSV, changed(format="orc"), changed(options={})), 1):
        scan = open_scan_of(index, tmp_path, now, epoch)
        outcomes[epoch] = (scan.total_records, [each.code for each in scan.warnings])
    if built is None:
        assert outcomes == {1: (2, []), 2: (None, []), 3: (None, []), 4: (None, [])}
    else:
        unusable = (None, ["index.other_reading"])
        assert outcomes == {1: (None, []), 2: (2, []), 3: unusable, 4: unusable}


def test_malformed_reading_is_an_error(index: IndexOfReading, tmp_path: Path) -> None:
    """No answer is better than an answer for another reading. On an error the shim keeps all files."""
    index.build()
    with pytest.raises(ValueError, match="not a description of reader options"):
        open_scan_of(index, tmp_path, changed(format=5), 1)


def test_refresh_rebuilds_after_a_change_of_the_reading(index: IndexOfReading) -> None:
    index.build()
    index.read.clear()
    index.refresh()
    assert index.read == []
    index.reading = changed(options={})
    assert index.describe().unusable_because == "option sep was ; and now is not set"
    index.refresh()
    assert index.read == ["0.parquet"]
    assert index.describe().unusable_because is None
    index.reading = None
    assert index.describe().unusable_because == "the format was csv and now is parquet"
    index.refresh()
    assert index.describe().to_dict()["format"] == "parquet"
