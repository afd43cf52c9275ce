"""The page docs/index_format.md suffices to read an index, and what it says holds for the data.

tamis builds the indexes, a reader that was written from the page alone reads them, and pyarrow
reads the data files. Spark does not run: the row statistics are computed here.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import os
import re
import shutil
import zlib
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.evaluation.domain.edge_values import edge_of
from tamis.expr.types import DataType
from tamis.indexing.build.rows.row_bounds import bounds_at
from tamis.indexing.format import blooms, distinct_sketches, value_lists
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.entry_statistics import Columns
from tamis.indexing.format.hashing import hashes_of
from tests.indexing import local, page_reader
from tests.indexing.local import LocalIndex, spark_schema, to_visible_layout
from tests.indexing.page_reader import PageReader, Statistics, Unusable, hashed_bytes, xxh64

PAGE = (Path(__file__).parents[2] / "docs" / "index_format.md").read_text()
UNKNOWN = Statistics()
ALL_KINDS = ["bounds", "bloom", "values", "ndv"]
Build = Callable[..., LocalIndex]


# --- data files -----------------------------------------------------------------------------------


def at(*moment: int) -> dt.datetime:
    return dt.datetime(*moment)  # type: ignore[arg-type]


NINES = Decimal("9999999999999999999999999999.9999999999")
TINY = Decimal("0.0000000001")
#: For each type: its type in pyarrow, the values of three files, and the Parquet types of bounds
#: and of value lists.
TYPES: dict[str, tuple[pa.DataType, list[list[Any]], str, str]] = {
    "boolean": (pa.bool_(), [[True, False], [None, True], [False]], "BOOLEAN", "INT64"),
    "byte": (pa.int8(), [[-128, 127], [None, 0], [5]], "INT32", "INT64"),
    "short": (pa.int16(), [[-(2**15), 2**15 - 1], [None, 0], [5]], "INT32", "INT64"),
    "integer": (pa.int32(), [[-(2**31), 2**31 - 1], [None, 7], [5]], "INT32", "INT64"),
    "long": (pa.int64(), [[-(2**63), 2**63 - 1], [None], [5]], "INT64", "INT64"),
    "float": (pa.float32(), [[0.1, math.nan], [None, math.inf], [-0.0]], "FLOAT", "DOUBLE"),
    "double": (pa.float64(), [[0.1, math.nan], [None, -math.inf], [-0.0]], "DOUBLE", "DOUBLE"),
    "string": (pa.string(), [["ü", "z"], [None, "", "a"], ["𝄞" * 9]], "BYTE_ARRAY", "BYTE_ARRAY"),
    "binary": (pa.binary(), [[b"\xff\0", b"a"], [None, b"", b"a"], [b"\0"]], "BYTE_ARRAY", "BYTE_ARRAY"),
    "date": (pa.date32(), [[dt.date(1582, 10, 17), dt.date(9999, 12, 31)], [None, dt.date(1969, 12, 31)], [dt.date(2024, 2, 29)]], "INT32", "INT64"),
    "timestamp": (pa.timestamp("us", "UTC"), [[at(1900, 1, 3), at(9999, 12, 31, 23, 59, 59, 999999)], [None, at(1969, 12, 31, 23, 59, 59, 1)], [at(2024, 2, 29)]], "INT64", "INT64"),
    "timestamp_ntz": (pa.timestamp("us"), [[at(1900, 1, 3), at(2000, 1, 1, 0, 0, 0, 7)], [None, at(1970, 1, 1)], [at(2024, 2, 29)]], "INT64", "INT64"),
    "decimal(9,2)": (pa.decimal128(9, 2), [[Decimal("-9999999.99"), Decimal("9999999.99")], [None, Decimal("0.01")], [Decimal(3)]], "INT32", "INT64"),
    "decimal(18,4)": (pa.decimal128(18, 4), [[Decimal("-99999999999999.9999"), Decimal(3)], [None, Decimal("0.0001")], [Decimal(-1)]], "INT64", "INT64"),
    "decimal(38,10)": (pa.decimal128(38, 10), [[NINES.copy_negate(), NINES], [None, TINY], [Decimal(128), -TINY]], "FIXED_LEN_BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"),
}  # fmt: skip


def write(path: Path, **columns: pa.Array) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def longs(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int64())


def write_type(root: Path, spark_type: str) -> str:
    """Write the three files with values of a type in the column `c`. Return the schema."""
    arrow_type, files, *_ = TYPES[spark_type]
    for at, values in enumerate(files):
        write(root / f"{at}.parquet", c=pa.array(values, arrow_type))
    return spark_schema(c=spark_type)


def plain(value: Any) -> Any:
    """Return a value of pyarrow as the reader returns it."""
    if isinstance(value, dt.datetime):
        return (value.replace(tzinfo=None) - at(1970, 1, 1)) // dt.timedelta(microseconds=1)
    if isinstance(value, dt.date):
        return (value - dt.date(1970, 1, 1)).days
    if isinstance(value, Decimal):  # pyarrow returns all digits of the scale
        sign, digits, _ = value.as_tuple()
        return (-1) ** sign * int("".join(map(str, digits)))
    return value


def stored_values(path: Path, column: str = "c") -> list[Any]:
    return list(pq.ParquetFile(path).read([column])[column].to_pylist())


def is_ordinary(value: Any) -> bool:
    return value is not None and value == value


def ordinary(path: Path, column: str = "c") -> list[Any]:
    return [plain(value) for value in stored_values(path, column) if is_ordinary(value)]


# --- indexes --------------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "table").mkdir()
    return tmp_path / "table"


@pytest.fixture
def build(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Return a function that builds the index of `root`: build(columns, kinds, …)."""
    monkeypatch.setattr(local, "_part", row_statistics)

    def built(
        schema: str,
        kinds: Any = None,
        expressions: Any = None,
        fill_gaps: bool = False,
        aggregates: Any = None,
        by: Any = (),
        **options: Any,
    ) -> LocalIndex:
        index = LocalIndex(root, schema, tmp_path / "scratch", **options)
        index.build(
            columns=kinds,
            expressions=expressions,
            fill_gaps=fill_gaps,
            aggregates=aggregates,
            by=by,
        )
        return index

    return built


def row_statistics(entry: Entry, paths: Sequence[Path]) -> Columns:
    """Return the statistics of a column that Spark would compute from the rows of files."""
    if entry.is_aggregate:
        return local.groups_of(entry, paths)
    files = [local._values(entry, path) for path in paths]
    data_type = DataType.parse(entry.type)
    assert data_type is not None
    known = [None if v is None else sorted({x for x in v if is_ordinary(x)}) for v in files]
    if entry.kind == "values":
        lists = [None if v is None or len(v) > 1000 else [key_of(x) for x in v] for v in known]
        return Columns(lists=value_lists.listed(lists, data_type))
    if entry.kind == "ndv":
        return Columns(sketches=local.sketches_of(entry, files))
    if entry.kind == "bloom":
        exact = (bool, Decimal)
        values = [
            None if v is None else [x if isinstance(x, exact) else plain(x) for x in v]
            for v in known
        ]
        return Columns(filters=blooms.joined([local._filter(v, data_type) for v in values]))
    arrow_type = TYPES[entry.type][0]
    rows = [values or [] for values in files]
    table = {
        "min0": pa.array([min(v) if v else None for v in known], arrow_type),
        "max0": pa.array([max(v) if v else None for v in known], arrow_type),
        "null0": longs(*(None if v is None else v.count(None) for v in files)),
        "nan0": longs(*(sum(x is not None and x != x for x in v) for v in rows)),
        "old0": pa.array([False] * len(files)),
    }
    if entry.type == "string":
        table |= {name: table[name].cast(pa.binary()) for name in ("min0", "max0")}
    return bounds_at(0, entry, pa.table(table), np.arange(len(files)))


def key_of(value: Any) -> bytes:
    """Return a value as Spark returns it for value lists."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, Decimal):
        return format(value, "f").encode()
    return str(int(value) if isinstance(value, bool) else plain(value)).encode()


def append(index: LocalIndex, name: str, **columns: pa.Array) -> None:
    """Add a file to the table and a segment to the index."""
    before = pointer_of(index.root)
    write(index.root / name, **columns)
    index.refresh()
    added = segments_of(pointer_of(index.root))[len(segments_of(before)) :]
    assert [each["files"] for each in added] == [1]


def opened(root: Path) -> PageReader:
    reader = PageReader.find(root)
    assert reader is not None
    return reader


def pointer_of(root: Path) -> dict[str, Any]:
    pointer: dict[str, Any] = json.loads((root / "_tamis" / "_index.json").read_bytes())
    return pointer


def sealed(pointer: dict[str, Any]) -> bytes:
    """Return a pointer with a checksum, computed by the lines of Python on the page."""
    text = json.dumps(pointer | {"checksum": 0}, ensure_ascii=False, separators=(",", ":"))
    return json.dumps(pointer | {"checksum": zlib.crc32(text.encode())}).encode()


def change_pointer(root: Path, /, **fields: Any) -> None:
    (root / "_tamis" / "_index.json").write_bytes(sealed(pointer_of(root) | fields))


def segments_of(pointer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects with the field `data` of the segments."""
    return [pointer, *pointer.get("appended", [])]


def data_path(root: Path, name: str, segment: int = 0) -> Path:
    described = segments_of(pointer_of(root))[segment]
    directory = described["directory" if segment else "generation"]
    return root / "_tamis" / str(directory) / f"_{name}"


def replace_data(root: Path, name: str, content: bytes, segment: int = 0) -> None:
    """Replace a data file, with correct checksums."""
    data_path(root, name, segment).write_bytes(content)
    pointer = pointer_of(root)
    listed = {"size": len(content), "checksum": zlib.crc32(content)}
    segments_of(pointer)[segment]["data"][name] = listed
    change_pointer(root, **pointer)


def change_json(
    root: Path, name: str, change: Callable[[dict[str, Any]], object], segment: int = 0
) -> None:
    document = json.loads(data_path(root, name, segment).read_bytes())
    change(document)
    replace_data(root, name, json.dumps(document).encode(), segment)


def change_table(root: Path, name: str, segment: int = 0, **columns: pa.Array | None) -> None:
    """Replace columns of a Parquet data file, with correct checksums. None: remove the column."""
    path = data_path(root, name, segment)
    table = pq.read_table(path)
    for column, values in columns.items():
        if column in table.column_names:
            table = table.drop_columns([column])
        table = table if values is None else table.append_column(column, values)
    pq.write_table(table, path, use_dictionary=False, write_statistics=False)
    replace_data(root, name, path.read_bytes(), segment)
    change_json(root, "checksums.json", lambda parts: parts.update({name: parts_of(path)}), segment)


def parts_of(path: Path) -> dict[str, Any]:
    """Return the checksums of a Parquet file as the page defines them, from its metadata."""
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little") + 8

    def part(start: int, size: int) -> list[int]:
        return [start, size, zlib.crc32(content[start : start + size])] if size else [0, 0, 0]

    chunks: dict[str, list[list[int]]] = {}
    metadata = pq.read_metadata(path)
    for column in range(metadata.num_columns):
        ranges = chunks.setdefault(metadata.schema.column(column).path, [])
        for group in range(metadata.num_row_groups):
            start, end = extent(metadata.row_group(group).column(column))
            ranges.append(part(start, end - start))
    return {"footer": part(len(content) - length, length), "chunks": chunks}


def extent(chunk: Any) -> tuple[int, int]:
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    return start, start + chunk.total_compressed_size


# --- tests ----------------------------------------------------------------------------------------


class TestFiles:
    def test_keys_and_row_counts_are_those_of_the_files(self, root: Path, build: Build) -> None:
        names = ["x=1#%/a b.parquet", "x=1#%/c+d%20.parquet", "x=2 [é]/é~'.parquet"]
        for rows, name in enumerate(names):
            write(root / name, a=longs(*range(rows)))
        build(spark_schema(a="long"))
        reader = opened(root)
        found = [reader.row_of(root / name) for name in names]
        assert sorted(row for row in found if row is not None) == [0, 1, 2]
        for rows, (row, name) in enumerate(zip(found, names, strict=True)):
            assert row is not None
            assert reader.files[row].num_records == rows
            assert reader.files[row].row_groups == pq.read_metadata(root / name).num_row_groups
            assert reader.files[row].problem is None

    def test_changed_moved_and_added_files_are_unknown(self, root: Path, build: Build) -> None:
        for name in "abc":
            write(root / f"{name}.parquet", a=longs(1))
        build(spark_schema(a="long"))
        os.utime(root / "a.parquet", ns=(0, (root / "a.parquet").stat().st_mtime_ns + 10**6))
        times = (root / "b.parquet").stat().st_mtime_ns
        write(root / "b.parquet", a=longs(1, 2, 3))
        os.utime(root / "b.parquet", ns=(times, times))
        write(root / "d.parquet", a=longs(1))
        rows = [opened(root).row_of(root / f"{name}.parquet") for name in "abcd"]
        assert rows == [None, None, 2, None]
        os.utime(root / "c.parquet", (1, 1))
        build(spark_schema(a="long"))
        assert opened(root).row_of(root / "c.parquet") is None
        os.utime(root / "c.parquet")
        build(spark_schema(a="long"))
        assert opened(root).row_of(root / "c.parquet") == 2
        moved = root.rename(root.with_name("moved"))
        assert PageReader.find(moved) is None
        reader = PageReader(moved / "_tamis", page_reader.path_uri(root))
        assert reader.row_of(moved / "c.parquet") is None

    def test_empty_and_unreadable_files(self, root: Path, build: Build) -> None:
        write(root / "0.parquet", a=longs())
        (root / "1.parquet").write_bytes(b"")
        (root / "2.parquet").write_bytes(b"PAR1 no footer PAR1")
        write(root / "3.parquet", a=longs(None, None))
        build(spark_schema(a="long"), {"a": ALL_KINDS})
        reader = opened(root)
        assert [file.num_records for file in reader.files] == [0, None, None, 2]
        assert [file.problem is None for file in reader.files] == [True, False, False, True]
        assert [file.row_groups for file in reader.files[1:]] == [None, None, 1]
        assert [each.null_count for each in reader.statistics("a")] == [0, None, None, 2]
        assert {(each.low, each.high) for each in reader.statistics("a")} == {(None, None)}
        assert reader.probe(1, "a") == [False, None, None, False]
        assert reader.values("a") == [[], None, None, []]
        assert [reader.row_groups(row) for row in (1, 2)] == [None, None]
        row_groups = sum(
            pq.read_metadata(root / f"{file}.parquet").num_row_groups for file in (0, 3)
        )
        totals = {"files": 4, "rows": 2, "row_groups": row_groups, "unreadable": 2}
        assert reader.pointer["totals"].items() >= totals.items()
        assert len(reader.pointer["problems"]) == 2

    def test_table_without_files(self, root: Path, build: Build) -> None:
        build(spark_schema(a="long"), {"a": "bloom"})
        reader = opened(root)
        assert (reader.files, reader.statistics("a"), reader.probe(1, "a")) == ([], [], [])


class TestColumns:
    @pytest.mark.parametrize("kinds", [None, {"c": "bounds"}], ids=["footers", "rows"])
    @pytest.mark.parametrize("spark_type", TYPES)
    def test_bounds_and_counts(self, root: Path, build: Build, spark_type: str, kinds: Any) -> None:
        build(write_type(root, spark_type), kinds)
        for statistics, path in zip(
            opened(root).statistics("c"), sorted(root.glob("*.parquet")), strict=True
        ):
            values, known = stored_values(path), ordinary(path)
            bounds = (min(known), max(known)) if known else (None, None)
            assert (statistics.low, statistics.high) == bounds
            assert statistics.null_count == values.count(None)
            nans = sum(value is not None and value != value for value in values)
            # Footers do not count NaN.
            is_floating = spark_type in ("float", "double")
            assert statistics.nan_count == (None if is_floating and not kinds else nans)
            is_text = spark_type in ("string", "binary")
            assert statistics.attained == (is_text and bool(kinds) and bool(known))

    @pytest.mark.parametrize("spark_type", TYPES)
    def test_value_lists_and_bloom_filters(self, root: Path, build: Build, spark_type: str) -> None:
        build(write_type(root, spark_type), {"c": ["values", "bloom"]})
        reader = opened(root)
        files = [set(ordinary(path)) for path in sorted(root.glob("*.parquet"))]
        assert [set(values or [None]) for values in reader.values("c")] == [
            v or {None} for v in files
        ]
        assert ([] in reader.values("c")) == (set() in files)
        absences = 0
        for value in set.union(*files):
            for values, answer in zip(files, reader.probe(value, "c"), strict=True):
                assert answer or value not in values
                absences += not answer
        assert absences >= 2

    def test_groups(self, root: Path, build: Build) -> None:
        flags, amounts = pa.array(["A", None, "A"]), pa.array([5, -7, None], pa.decimal128(9, 2))
        write(root / "1.parquet", f=flags, d=amounts, a=longs(1, 2, None))
        write(root / "2.parquet", f=flags.slice(0, 0), d=amounts.slice(0, 0), a=longs())
        many = range(1001)
        strings = pa.array([str(number) for number in many])
        zeros = pa.array([0] * 1001, pa.decimal128(9, 2))
        write(root / "3.parquet", f=strings, d=zeros, a=longs(*many))
        index = build(
            spark_schema(f="string", d="decimal(9,2)", a="long"),
            aggregates=["sum(d)", "count(*)", "max(a)"],
            by=["f"],
        )
        append(index, "4.parquet", f=flags.slice(2), d=amounts.slice(2), a=longs(9))
        reader = opened(root)
        null, flag = {"by.0": None}, {"by.0": "A"}
        assert reader.groups("count", [["f"]]) == [
            [null | {"rows": 1}, flag | {"rows": 2}], [], None, [flag | {"rows": 1}]
        ]  # fmt: skip
        sums = reader.groups("sum", [["F"]], "d")
        assert sums[0] == [
            null | {"rows": 1, "count": 1, "positive": 0, "negative": -700},
            flag | {"rows": 2, "count": 1, "positive": 500, "negative": 0},
        ]
        assert sums[3] == [flag | {"rows": 1, "count": 0, "positive": 0, "negative": 0}]
        greatest = reader.groups("max", [["f"]], "a")
        assert greatest[0] == [
            null | {"rows": 1, "count": 1, "value": 2}, flag | {"rows": 2, "count": 1, "value": 1}
        ]  # fmt: skip
        assert reader.groups("max", [], "a") == [None] * 4
        document = json.loads(data_path(root, "recorded.json").read_bytes())
        assert document["format"] == 2

    @pytest.mark.parametrize("spark_type", TYPES)
    def test_sketches(self, root: Path, build: Build, spark_type: str) -> None:
        build(write_type(root, spark_type), {"c": "ndv"})
        reader = opened(root)
        files = [
            {
                xxh64(hashed_bytes(plain(value), spark_type))
                for value in stored_values(path)
                if value is not None
            }
            for path in sorted(root.glob("*.parquet"))
        ]
        for sketch, hashes in zip(reader.sketches("c"), files, strict=True):
            assert sketch is not None
            assert len(sketch) == 0 if not hashes else len(sketch) > 0
            # With the values of the page, nothing is added.
            for sketches in ([sketch], [sketch, local.sketch_of(hashes)]):
                assert distinct_sketches.estimate(sketches) == len(hashes)
        assert distinct_sketches.estimate(reader.unions("c")) == len(set.union(*files))
        if spark_type in ("string", "binary"):
            lengths = [
                [len(v) for v in stored_values(p) if v is not None]
                for p in sorted(root.glob("*.parquet"))
            ]
            assert reader.lengths("c") == [(sum(each), max(each)) for each in lengths]

    @pytest.mark.parametrize("spark_type", TYPES)
    def test_parquet_types(self, root: Path, build: Build, spark_type: str) -> None:
        build(write_type(root, spark_type), {"c": "values"})
        schema = pq.ParquetFile(data_path(root, "files.stats")).schema
        stored = {each.name: each for each in map(schema.column, range(len(schema)))}
        arrow_type, _, of_bounds, of_values = TYPES[spark_type]
        value = pq.ParquetFile(data_path(root, "0.values")).schema.column(0)
        assert stored["min.c"].physical_type == stored["max.c"].physical_type == of_bounds
        assert value.physical_type == of_values
        annotations = {
            "byte": "INT", "short": "INT", "date": "DATE", "timestamp": "TIMESTAMP",
            "timestamp_ntz": "TIMESTAMP",
        }  # fmt: skip
        is_decimal = spark_type.startswith("decimal")
        expected = "DECIMAL" if is_decimal else annotations.get(spark_type, "NONE")
        assert stored["min.c"].logical_type.type == expected
        if is_decimal:
            exact = arrow_type.precision, arrow_type.scale
            assert (stored["min.c"].precision, stored["min.c"].scale) == exact
        assert value.logical_type.type == ("DECIMAL" if spark_type == "decimal(38,10)" else "NONE")

    def test_tables_have_the_columns_of_the_page(self, root: Path, build: Build) -> None:
        build(write_type(root, "string"))
        for name in ("files.stats", "rowgroups.stats"):
            file = pq.ParquetFile(data_path(root, name))
            section = PAGE.partition(f"## The table `{name}`")[2].partition("\n## ")[0]
            documented: dict[str, str] = {}
            for names, kind in re.findall(r"^\| (`[^|]+`) \| ([^|]+) \|", section, re.M):
                documented |= dict.fromkeys(re.findall(r"`([\w.]+)(?:<c>)?`", names), kind)
            for at in range(len(file.schema)):
                column = file.schema.column(at)
                kind = documented[re.sub(r"\.c$", ".", column.name)]
                assert column.path == column.name
                assert (column.max_definition_level, column.max_repetition_level) == (1, 0)
                if kind[:3] in ("BYT", "INT", "BOO"):
                    assert column.physical_type == kind.partition(",")[0]
                    has_annotation = column.logical_type.type == "STRING"
                    assert has_annotation == kind.endswith("STRING")
                chunk = file.metadata.row_group(0).column(at)
                assert (chunk.compression, chunk.is_stats_set) == ("ZSTD", False)

    def test_long_strings_are_truncated_outwards(self, root: Path, build: Build) -> None:
        words = ["é" * 200, "é" * 200 + "x", "\U0010ffff" * 100, "\ud7ff" * 100, "é" * 600]
        for file, word in enumerate(words):
            write(root / f"{file}.parquet", s=pa.array([word]), b=pa.array([b"\xff" * 200]))
        index = build(spark_schema(s="string", b="binary"))
        known = opened(root).statistics("s")
        for word, statistics in zip(words, known, strict=True):
            assert word.startswith(statistics.low)
            assert 120 < len(statistics.low.encode()) <= 128
            assert statistics.high is None or statistics.high > word
            assert not statistics.attained
        # No string is greater than all strings with this prefix.
        assert [each.high is None for each in known] == [False, False, True, False, False]
        assert {each.high for each in opened(root).statistics("b")} == {None}
        index.build(columns={"s": "bounds"}, fill_gaps=False)
        known = opened(root).statistics("s")
        assert [each.attained for each in known] == [len(word.encode()) <= 1024 for word in words]
        assert [each.low == word for each, word in zip(known, words, strict=True)] == [
            each.attained for each in known
        ]
        assert len(known[4].low.encode()) == 128

    def test_struct_fields_and_names_with_dots(self, root: Path, build: Build) -> None:
        struct = pa.array([{"y": 1, "z.z": {"{0}": "k"}}, None, {"y": None, "z.z": None}])
        other = pa.array([{"f": 7}] * 3)
        write(
            root / "0.parquet", x=struct, e=other, **{"a.b": longs(1, 2, 3), "e.f": longs(8, 8, 8)}
        )
        write(root / "1.parquet", x=struct[:1])
        x = {"y": "long", "z.z": {"{0}": "string"}}
        build(spark_schema(x=x, e={"f": "long"}, **{"a.b": "long", "e.f": "long"}))
        reader = opened(root)
        assert reader.statistics("x", "y") == [Statistics(1, 1, 2, 0), Statistics(1, 1, 0, 0)]
        assert reader.statistics("x", "z.z", "{0}")[0] == Statistics("k", "k", 2, 0)
        assert reader.statistics("a.b") == [Statistics(1, 3, 0, 0), Statistics(None, None, 1, 0)]
        assert reader.statistics("a", "b") == [UNKNOWN] * 2
        # Both would have the statistics `min.e.f`, so a writer leaves out both.
        for path in (["e", "f"], ["e.f"]):
            assert {(each.low, each.null_count) for each in reader.statistics(*path)} == {
                (None, None)
            }

    def test_column_that_a_file_lacks_is_null_unless_it_has_a_default(
        self, root: Path, build: Build
    ) -> None:
        write(root / "0.parquet", a=longs(1, 2))
        schema = json.loads(spark_schema(a="long", b="long", c="long"))
        schema["fields"][2]["metadata"] = {"EXISTS_DEFAULT": "7", "CURRENT_DEFAULT": "7"}
        build(json.dumps(schema))
        reader = opened(root)
        assert reader.statistics("b") == [Statistics(None, None, 2, 0)]
        assert reader.statistics("c") == [Statistics(None, None, None, 0)]
        columns = {each["path"][0]: each for each in reader.pointer["columns"]}
        assert [columns[name]["has_default"] for name in "abc"] == [False, False, True]
        assert [columns[name]["nulls"] for name in "abc"] == [0, 2, None]
        assert [columns[name]["files_with_bounds"] for name in "abc"] == [1, 0, 0]
        assert [columns[name]["files_with_null_count"] for name in "abc"] == [1, 1, 0]

    def test_contradictory_statistics_of_a_file_are_unknown(self, root: Path, build: Build) -> None:
        for file in range(2):
            write(root / f"{file}.parquet", a=longs(1, 2, None), b=longs(1, 2, None))
        build(spark_schema(a="long", b="long"))
        change_table(root, "files.stats", **{"min.a": longs(3, 1)})
        assert opened(root).statistics("a") == [UNKNOWN, Statistics(1, 2, 1, 0)]
        assert opened(root).statistics("b") == [Statistics(1, 2, 1, 0)] * 2

    @pytest.mark.parametrize("case_sensitive", [False, True])
    def test_case_of_names(self, root: Path, build: Build, case_sensitive: bool) -> None:
        write(root / "0.parquet", KEY=longs(1))
        build(spark_schema(Key="long"), case_sensitive=case_sensitive)
        known = Statistics(None, None, 1, 0) if case_sensitive else Statistics(1, 1, 0, 0)
        assert opened(root).statistics("Key") == [known]
        assert opened(root).statistics("key") == [UNKNOWN if case_sensitive else known]

    def test_old_dates_need_a_statement_of_spark(self, root: Path, build: Build) -> None:
        for file, day in enumerate([dt.date(1582, 10, 14), dt.date(1582, 10, 15)]):
            write(root / f"{file}.parquet", d=pa.array([day, dt.date(2020, 1, 1)]))
        build(spark_schema(d="date"))
        known = opened(root).statistics("d")
        assert (known[0].low, known[0].high) == (None, None)
        assert known[1].low == plain(dt.date(1582, 10, 15))


class TestRowGroups:
    def test_extents_counts_and_bounds(self, root: Path, build: Build) -> None:
        for file, rows in enumerate([10, 3, 4]):
            table = pa.table({"a": longs(*range(rows)), "s": [str(k) * 200 for k in range(rows)]})
            pq.write_table(table, root / f"{file}.parquet", row_group_size=4)
        build(spark_schema(a="long", s="string"))
        for row, path in enumerate(sorted(root.glob("*.parquet"))):
            groups = opened(root).row_groups(row, ["a"], ["s"])
            metadata = pq.read_metadata(path)
            assert groups is not None
            assert len(groups) == metadata.num_row_groups
            for place, group in enumerate(groups):
                expected = metadata.row_group(place)
                extents = [extent(expected.column(k)) for k in range(2)]
                assert group.start == min(start for start, _ in extents)
                assert group.start + group.length == max(end for _, end in extents)
                middle = extents[0][0] + sum(end - start for start, end in extents) // 2
                assert group.midpoint == (None if len(groups) == 1 else middle)
                assert group.num_records == expected.num_rows
                values = pq.ParquetFile(path).read_row_group(place)
                of_a, of_s = group.statistics
                assert of_a == Statistics(values["a"][0].as_py(), values["a"][-1].as_py(), 0, 0)
                assert (
                    of_s.low
                    <= min(values["s"].to_pylist())
                    < max(values["s"].to_pylist())
                    < of_s.high
                )

    @pytest.mark.parametrize(
        "columns",
        [
            {"num_records": longs(4, 4, 2)},  # not the rows of the file
            {"start": longs(4, 5, 300)},  # overlap
            {"start": longs(4, 300, 200)},  # not in ascending order
            {"length": longs(1, 1, 10**6)},  # beyond the end of the file
            {"length": longs(0, 0, 0), "start": longs(0, 0, 0)},  # encrypted metadata
            {"min.a": longs(0, 4, 100), "max.a": None},  # above the maximum of the file
            {"max.a": longs(3, 7, -1), "min.a": None},  # below the minimum of the file
            {"null_count.a": longs(0, 1, 0)},  # not the sum
            {"midpoint": None},
        ],
        ids=", ".join,
    )  # fmt: skip
    def test_contradictory_row_groups_are_not_used(
        self, root: Path, build: Build, columns: dict[str, Any]
    ) -> None:
        pq.write_table(pa.table({"a": longs(*range(9))}), root / "0.parquet", row_group_size=4)
        build(spark_schema(a="long"))
        assert len(opened(root).row_groups(0, ["a"]) or ()) == 3
        change_table(root, "rowgroups.stats", **columns)
        assert opened(root).row_groups(0, ["a"]) is None
        assert opened(root).statistics("a") == [Statistics(0, 8, 0, 0)]

    def test_row_groups_are_compared_with_row_statistics(self, root: Path, build: Build) -> None:
        pq.write_table(pa.table({"a": longs(*range(9))}), root / "0.parquet", row_group_size=4)
        build(spark_schema(a="long"), {"a": "bounds"})
        assert len(opened(root).row_groups(0, ["a"]) or ()) == 3
        change_table(root, "recorded.stats", **{"0.max": longs(7)})
        assert opened(root).row_groups(0, ["a"]) is None
        assert len(opened(root).row_groups(0) or ()) == 3


class TestVersions:
    @pytest.fixture(autouse=True)
    def index(self, root: Path, build: Build) -> None:
        write(root / "0.parquet", a=longs(1, None), b=longs(1, None))
        write(root / "1.parquet", a=longs(7, 7), b=longs(7, 7))
        build(spark_schema(a="long", b="long"), {"a": ALL_KINDS})

    @pytest.mark.parametrize("version", [1, 2, 3])
    def test_null_counts_of_old_formats_are_ignored(self, root: Path, version: int) -> None:
        change_pointer(root, format=version)
        if version == 1:
            to_visible_layout(root)
            assert not (root / "_tamis" / "_index.json").exists()
        reader = opened(root)
        assert reader.pointer["format"] == version
        # NULL counts of recorded.stats may be used in every format.
        assert [each.null_count for each in reader.statistics("a")] == [1, 0]
        expected = [1, 0] if version == 3 else [None, None]
        assert [each.null_count for each in reader.statistics("b")] == expected
        assert [each.low for each in reader.statistics("b")] == [1, 7]
        assert reader.values("a") == [[1], [7]]
        groups = reader.row_groups(0, ["b"])
        assert groups is not None
        assert groups[0].statistics[0].null_count == expected[0]

    def test_row_groups_of_format_1_may_lack_extents(self, root: Path) -> None:
        change_table(root, "rowgroups.stats", start=None, length=None, midpoint=None)
        to_visible_layout(root)
        assert opened(root).row_groups(0) is None
        assert [each.high for each in opened(root).statistics("b")] == [1, 7]

    @pytest.mark.parametrize("version", [5, 99, 0, -1, "3", None])
    def test_other_formats_are_no_index(self, root: Path, version: Any) -> None:
        change_pointer(root, format=version)
        assert PageReader.find(root) is None

    def test_pointer_of_a_newer_format_needs_no_other_field(self, root: Path) -> None:
        (root / "_tamis" / "_index.json").write_text('{"format": 5, "columns": 7}')
        with pytest.raises(Unusable, match="format 5"):
            PageReader(root / "_tamis", page_reader.path_uri(root))

    def test_newer_format_of_recorded_json_ignores_entries_only(self, root: Path) -> None:
        change_json(root, "recorded.json", lambda document: document.update(format=3))
        assert opened(root).entries == []
        assert opened(root).values("a") == [None, None]
        assert opened(root).statistics("a")[0] == Statistics(1, 1, 1, 0)

    def test_unknown_fields_names_kinds_and_columns_are_ignored(self, root: Path) -> None:
        before = opened(root)

        def add_unknown(document: dict[str, Any]) -> None:
            document["new"] = {"a": 1}
            for entry in document["entries"]:
                entry["new"] = [None]
            known = document["entries"][0]
            document["entries"] += [{"kind": "sketch", "what": 1}, known | {"kind": "sketch"}]

        change_json(root, "recorded.json", add_unknown)
        change_table(root, "files.stats", **{"sum.a": longs(1, 2)})
        change_table(root, "recorded.stats", **{"3.sketch": longs(1, 2)})
        change_json(root, "checksums.json", lambda document: document.update({"3.sketch": 7}))
        change_pointer(
            root, data={**pointer_of(root)["data"], "3.sketch": {"size": 1, "checksum": 2}}
        )
        # The checksum of a pointer does not cover unknown fields.
        pointer = pointer_of(root) | {"new": {"x": []}}
        for each in (pointer["totals"], *pointer["columns"], *pointer["data"].values()):
            each["new"] = None
        (root / "_tamis" / "_index.json").write_text(json.dumps(pointer))
        (root / "_tamis" / "other").write_text("")
        reader = opened(root)
        assert reader.entries == before.entries != []
        assert reader.statistics("a") == before.statistics("a") != [UNKNOWN] * 2
        assert reader.values("a") == [[1], [7]]

    def test_missing_optional_fields_have_their_defaults(self, root: Path) -> None:
        columns = [column | {"nulls": None} for column in pointer_of(root)["columns"]]
        change_pointer(root, problems=[], columns=columns)
        pointer = pointer_of(root)
        for document, field in [
            (pointer, "problems"),
            *((each, "nulls") for each in pointer["columns"]),
        ]:
            del document[field]
        (root / "_tamis" / "_index.json").write_text(json.dumps(pointer))
        assert opened(root).pointer["problems"] == []
        assert opened(root).pointer["columns"] == columns

    def test_index_of_other_files_is_not_used(self, root: Path) -> None:
        replace_data(root, "reading.json", b"{}")
        assert PageReader.find(root) is None


class TestPointer:
    def test_checksum_of_every_kind_of_character(self, root: Path, build: Build) -> None:
        name = 'é𝄞\u2028\u2029\x7f"q"\\ \t\n\r\f\b\x01\x1f</&>%25+#?'
        root = root / name.replace("/", "")
        write(root / "0.parquet", **{name: longs(1)})
        LocalIndex(root, spark_schema(**{name: "long"}), root.parent / "s").build(fill_gaps=False)
        pointer = pointer_of(root)
        # The two ways of the page agree: by the fields, and by the text.
        assert json.loads(sealed(pointer)) == pointer
        assert opened(root).statistics(name) == [Statistics(1, 1, 0, 0)]

    def test_fields_have_the_order_of_the_page(self, root: Path, build: Build) -> None:
        index = build(write_type(root, "long"))
        section = PAGE.partition("## The pointer\n")[2].partition("### Checksum")[0]
        tables = re.split(r"^\| --- .*$", section, flags=re.M)[1:]
        fields, segment_fields, columns = (
            re.findall(r"^\| `(\w+)` \|", table, re.M) for table in tables
        )
        assert list(pointer_of(root)) == [field for field in fields if field != "appended"]
        append(index, "3.parquet", c=longs(1))
        pointer = pointer_of(root)
        assert (list(pointer), list(pointer["columns"][0])) == (fields, columns)
        assert list(pointer["totals"]) == list(page_reader.TOTALS_FIELDS)
        assert list(pointer["appended"][0]) == segment_fields
        for segment in segments_of(pointer):
            assert {tuple(each) for each in segment["data"].values()} == {("size", "checksum")}

    @pytest.mark.parametrize("field", page_reader.POINTER_FIELDS[1:])
    def test_changed_field_is_detected(self, root: Path, build: Build, field: str) -> None:
        append(build(write_type(root, "long")), "3.parquet", c=longs(1))
        assert PageReader.find(root) is not None
        (root / "_tamis" / "_index.json").write_text(json.dumps(pointer_of(root) | {field: 1}))
        assert PageReader.find(root) is None

    @pytest.mark.parametrize(
        ("hidden", "visible", "current"),
        [
            ("valid", None, "hidden"),
            ("valid", "damaged", "hidden"),
            ("valid", "newer", "hidden"),
            ("valid", "later", "visible"),
            ("valid", "earlier", "hidden"),
            ("valid", "equal", "hidden"),
            ("valid", "untimed", "hidden"),
            (None, "earlier", "visible"),
            (None, "damaged", None),
            (None, None, None),
            ("damaged", "later", None),
            ("newer", "later", None),
        ],
    )  # fmt: skip
    def test_choice_of_two_pointers(
        self, root: Path, build: Build, hidden: str | None, visible: str | None, current: str | None
    ) -> None:
        """The rows of the table on the page. Only the visible index describes two files."""
        folder, aside = root / "_tamis", root.with_name("aside")
        write(root / "0.parquet", a=longs(1))
        build(spark_schema(a="long"))
        folder.rename(aside)
        write(root / "1.parquet", a=longs(2))
        build(spark_schema(a="long"))
        generation = to_visible_layout(root)
        shutil.copytree(aside, folder, dirs_exist_ok=True)
        names = {
            "earlier": "20200101T000000000000Z-00000000",
            "equal": pointer_of(root)["generation"][1:-8] + "ffffffff",
            "untimed": "zzz",
        }
        if visible in names:
            generation.rename(folder / names[visible])
        for name, state in (("_index.json", hidden), ("index.json", visible)):
            path = folder / name
            pointer = json.loads(path.read_bytes())
            if state is None:
                path.unlink()
            elif state == "damaged":
                path.write_text("{")
            elif state == "newer":
                path.write_bytes(sealed(pointer | {"format": 5}))
            elif state in names:
                path.write_bytes(sealed(pointer | {"generation": names[state]}))
        reader = PageReader.find(root)
        files = None if reader is None else len(reader.files)
        assert files == {"hidden": 1, "visible": 2, None: None}[current]

    def test_pointer_of_the_example_is_valid(self, tmp_path: Path) -> None:
        (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.S)
        (tmp_path / "_index.json").write_text(text)
        assert page_reader.read_pointer(tmp_path / "_index.json")["root"] == "file:/tmp/events"
        (tmp_path / "_index.json").write_text(text.replace('"rows": 6', '"rows": 7'))
        with pytest.raises(Unusable, match="checksum"):
            page_reader.read_pointer(tmp_path / "_index.json")


class TestLocation:
    @pytest.mark.parametrize(
        ("path", "uri"),
        [
            ("/data/t/", "file:/data/t"),
            ("/a b/é𝄞/x=1", "file:/a%20b/é𝄞/x=1"),
            ("/%20/#?", "file:/%2520/%23%3F"),
            ("/!$&'()*+,-.:;=@_~", "file:/!$&'()*+,-.:;=@_~"),
            ("/\"<>[]^`{|}\\\x7f", "file:/%22%3C%3E%5B%5D%5E%60%7B%7C%7D%5C%7F"),
            ("/\u00a0\u2028\u3000\x85", "file:/%C2%A0%E2%80%A8%E3%80%80%C2%85"),
        ],
    )  # fmt: skip
    def test_spelling_of_a_uri(self, path: str, uri: str) -> None:
        assert page_reader.path_uri(Path(path)) == uri

    def test_digests_of_the_page(self) -> None:
        examples = re.findall(r"`([\w:/]+)` (?:has )?the digest\s+`(\w{16})`", PAGE)
        assert len(examples) == 2
        for uri, digest in examples:
            assert hashlib.sha256(uri.encode()).hexdigest()[:16] == digest

    def test_index_at_another_location(self, tmp_path: Path) -> None:
        location, root = tmp_path / "indexes", tmp_path / "t é#%~"
        write(root / "0.parquet", a=longs(1))
        schema = spark_schema(a="long")
        LocalIndex(root, schema, tmp_path / "s", f"file:{location}//").build(fill_gaps=False)
        assert PageReader.find(root) is None
        reader = PageReader.find(root, location)
        assert reader is not None
        assert reader.statistics("a") == [Statistics(1, 1, 0, 0)]
        (directory,) = (path for path in location.iterdir() if path.is_dir())
        with pytest.raises(Unusable, match="is the index of"):
            PageReader(directory, "file:/data/t")

    def test_index_of_a_table_serves_its_partitions(self, root: Path, build: Build) -> None:
        file = root / "x=1" / "y=2" / "0.parquet"
        write(file, a=longs(1))
        write(root / "plain" / "0.parquet", a=longs(1))
        build(spark_schema(a="long"))
        for path in (file, *file.parents[:2]):
            reader = PageReader.find(path)
            assert reader is not None
            assert reader.row_of(file) is not None
        assert PageReader.find(root / "plain") is None

    def test_names_are_hidden(self, root: Path, build: Build) -> None:
        index = build(write_type(root, "long"), {"c": ["bloom", "values"]})
        append(index, "3.parquet", c=longs(1))
        written = [path.name for path in (root / "_tamis").rglob("*")]
        assert len(written) == 1 + 2 * 8
        pattern = r"_(?!metadata|common_metadata)[^=]*(?<!\.parquet)"
        assert [name for name in written if not re.fullmatch(pattern, name)] == []
        for name in page_reader.segment_names(pointer_of(root)):
            assert re.fullmatch(r"_\d{8}T\d{12}Z-[0-9a-f]{8}", name)


class TestChecksums:
    @pytest.fixture(autouse=True, params=[1, 2], ids=["one segment", "two segments"])
    def segments(self, root: Path, build: Build, request: pytest.FixtureRequest) -> int:
        """Build the index of two files, and return the number of its segments."""
        write(root / "0.parquet", a=longs(1, None), s=pa.array(["x", "y"]))
        second = {"a": longs(7, 7), "s": pa.array(["z", None])}
        if request.param == 1:
            write(root / "1.parquet", **second)
        index = build(spark_schema(a="long", s="string"), {"a": ALL_KINDS, "s": "bounds"})
        if request.param == 2:
            append(index, "1.parquet", **second)
        return int(request.param)

    def test_data_describes_whole_files_and_parts(self, root: Path, segments: int) -> None:
        described = segments_of(pointer_of(root))
        assert len(described) == segments
        for segment, data in enumerate(each["data"] for each in described):
            paths = {name: data_path(root, name, segment) for name in data}
            directory = paths["files.stats"].parent
            assert {path.name for path in paths.values()} == set(os.listdir(directory))
            parts = json.loads(paths["checksums.json"].read_bytes())
            tables = {name for name in data if name.endswith((".stats", ".values"))}
            assert parts == {name: parts_of(paths[name]) for name in tables}
            for name, listed in data.items():
                content = paths[name].read_bytes()
                assert listed == {"size": len(content), "checksum": zlib.crc32(content)}

    @staticmethod
    def answers(root: Path) -> dict[tuple[Any, ...], Any]:
        """Return what the index says, without what is unknown."""
        reader = PageReader.find(root)
        if reader is None:
            return {}
        answers: dict[tuple[Any, ...], Any] = {("union", each): True for each in reader.unions("a")}
        for row in (0, 1):
            answers["sketch", row] = reader.sketches("a")[row]
            answers["values", row] = reader.values("a")[row]
            answers["bloom", row] = reader.probe(7, "a")[row]
            for name in "as":
                known = reader.statistics(name)[row]
                answers[name, "low", row], answers[name, "high", row] = known.low, known.high
                answers[name, "nulls", row] = known.null_count
                for group in reader.row_groups(row, [name]) or ():
                    answers[name, "group", row] = group.start, group.num_records
                    answers[name, "group low", row] = group.statistics[0].low
        return {key: value for key, value in answers.items() if value is not None}

    def test_damage_makes_a_part_unknown_and_changes_nothing_else(
        self, root: Path, segments: int
    ) -> None:
        whole = self.answers(root)
        assert whole["a", "low", 1] == 7
        assert len(whole) == 2 * (3 + 2 * 5) + segments
        files = sorted(path for path in (root / "_tamis").rglob("*") if path.is_file())
        weaker = set()
        for path in files:
            content = path.read_bytes()
            damages = [b"", content[:-1]]
            if path.name != "_index.json":
                damages.append(content + b"\n")
            step = max(1, len(content) * segments // 20)
            for position in range(0, len(content), step):
                damaged = bytearray(content)
                damaged[position] ^= 0x10
                damages.append(bytes(damaged))
            for damage in damages:
                path.write_bytes(damage)
                answers = self.answers(root)
                assert answers.items() <= whole.items()
                if answers != whole:
                    weaker.add(path)
            path.write_bytes(content)
        # Only the last `recorded.json` is in force.
        replaced = [data_path(root, "recorded.json", segment) for segment in range(segments - 1)]
        assert weaker == set(files) - set(replaced)
        assert self.answers(root) == whole

    def test_damage_of_one_column_leaves_the_others(self, root: Path, segments: int) -> None:
        change_json(
            root, "recorded.json", lambda document: document.update(entries=[]), segments - 1
        )
        parts = json.loads(data_path(root, "checksums.json").read_bytes())["files.stats"]
        ((start, length, _),) = parts["chunks"]["min.s"]
        path = data_path(root, "files.stats")
        content = bytearray(path.read_bytes())
        content[start + length - 1] ^= 1
        path.write_bytes(content)
        reader = opened(root)
        assert [each.low for each in reader.statistics("s")] == [None, [None, "z"][segments - 1]]
        assert [each.high for each in reader.statistics("s")] == ["y", "z"]
        assert [each.low for each in reader.statistics("a")] == [1, 7]

    def test_wrong_number_of_files_is_damage(self, root: Path) -> None:
        change_pointer(root, totals={**pointer_of(root)["totals"], "files": 3})
        assert PageReader.find(root) is None


class TestGenerations:
    def test_last_commit_is_current(self, root: Path, build: Build) -> None:
        write(root / "0.parquet", a=longs(1))
        index = build(spark_schema(a="long"))
        old = opened(root)
        write(root / "1.parquet", a=longs(2))
        index.build(fill_gaps=False)
        generations = [path for path in (root / "_tamis").iterdir() if path.is_dir()]
        assert len(generations) == 2
        assert opened(root).statistics("a") == [Statistics(1, 1, 0, 0), Statistics(2, 2, 0, 0)]
        # What was read stays valid, also when its generation is deleted.
        shutil.rmtree(root / "_tamis" / old.pointer["generation"])
        assert old.statistics("a") == [Statistics(1, 1, 0, 0)]

    def test_reader_starts_over_when_a_generation_is_deleted(
        self, root: Path, build: Build, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(root / "0.parquet", a=longs(1))
        index = build(spark_schema(a="long"), {"a": "values"})
        actual = page_reader.current_pointer
        stale = [actual(root / "_tamis")]
        data_path(root, "0.values").unlink()
        write(root / "0.parquet", a=longs(2, 3))
        index.build(columns={"a": "values"}, fill_gaps=False)
        monkeypatch.setattr(
            page_reader, "current_pointer", lambda path: stale.pop() if stale else actual(path)
        )
        reader = opened(root)
        # Nothing comes from the rest of the old generation.
        assert stale == []
        assert (reader.statistics("a"), reader.values("a")) == ([Statistics(2, 3, 0, 0)], [[2, 3]])

    def test_missing_part_of_the_current_generation_is_unknown(
        self, root: Path, build: Build
    ) -> None:
        write(root / "0.parquet", a=longs(1))
        build(spark_schema(a="long"), {"a": ["values", "bloom"]})
        assert (opened(root).values("a"), opened(root).probe(1, "a")) == ([[1]], [True])
        for path in data_path(root, "files.stats").parent.iterdir():
            if path.suffix in (".values", ".bits") or path.name == "_rowgroups.stats":
                path.unlink()
        reader = opened(root)
        assert reader.statistics("a") == [Statistics(1, 1, 0, 0)]
        assert (reader.values("a"), reader.probe(1, "a")) == ([None], [None])
        assert reader.row_groups(0) is None


class TestSegments:
    """An index of three segments: tamis has appended twice."""

    #: Values of `a` in the files of each segment. A row group has two rows.
    VALUES: ClassVar[list[list[list[int | None]]]] = [
        [[1, None, 5, 6, 7], [8, 9, 9]],
        [[20, 21, None, None]],
        [[30, 30], [None, 42, 41]],
    ]

    @pytest.fixture(autouse=True)
    def index(self, root: Path, build: Build) -> LocalIndex:
        """Build an index with entries of `a`. Footers alone describe `s`."""

        def write_files(segment: int) -> None:
            for file, values in enumerate(self.VALUES[segment]):
                words = pa.array([None if value is None else f"s{value}" for value in values])
                table = pa.table({"a": longs(*values), "s": words})
                pq.write_table(table, root / f"{segment}-{file}.parquet", row_group_size=2)

        write_files(0)
        index = build(spark_schema(a="long", s="string"), {"a": ALL_KINDS})
        for segment in (1, 2):
            write_files(segment)
            index.refresh()
        return index

    @staticmethod
    def paths(root: Path) -> list[Path]:
        return sorted(root.glob("*.parquet"))

    def test_files_are_numbered_over_all_segments(self, root: Path) -> None:
        reader, paths = opened(root), self.paths(root)
        assert reader.pointer["format"] == 4
        assert [each["files"] for each in reader.pointer["appended"]] == [1, 2]
        assert [reader.row_of(path) for path in paths] == [0, 1, 2, 3, 4]
        assert [file.num_records for file in reader.files] == [5, 3, 4, 2, 3]
        assert [file.row_groups for file in reader.files] == [3, 2, 2, 1, 2]
        sizes = sum(path.stat().st_size for path in paths)
        assert reader.pointer["totals"] == {
            "files": 5, "rows": 17, "row_groups": 10, "bytes": sizes, "unreadable": 0
        }  # fmt: skip

    def test_rows_are_numbered_within_a_segment(self, root: Path) -> None:
        for name, expected in [
            ("recorded.stats", [[0, 1], [0], [0, 1]]),
            ("rowgroups.stats", [[0, 0, 0, 1, 1], [0, 0], [0, 1, 1]]),
        ]:
            stored = [stored_values(data_path(root, name, k), "file") for k in range(3)]
            assert stored == expected

    def test_columns_of_the_pointer_describe_all_segments(self, root: Path) -> None:
        counts = {"files_with_bounds": 5, "files_with_null_count": 5, "nulls": 4}
        for column in opened(root).pointer["columns"]:
            assert column.items() >= counts.items()

    @pytest.mark.parametrize("column", ["a", "s"])
    def test_bounds_and_counts(self, root: Path, column: str) -> None:
        expected = []
        for path in self.paths(root):
            known = ordinary(path, column)
            nulls = stored_values(path, column).count(None)
            expected.append(Statistics(min(known), max(known), nulls, 0))
        assert opened(root).statistics(column) == expected

    def test_value_lists_and_bloom_filters(self, root: Path) -> None:
        reader = opened(root)
        files = [set(ordinary(path, "a")) for path in self.paths(root)]
        assert [set(values or ()) for values in reader.values("a")] == files
        absences = 0
        for value in set.union(*files):
            for values, answer in zip(files, reader.probe(value, "a"), strict=True):
                assert answer or value not in values
                absences += answer is False
        assert absences > 0.9 * sum(len(values) for values in files) * 4

    def test_row_groups(self, root: Path) -> None:
        reader = opened(root)
        for row, path in enumerate(self.paths(root)):
            groups = reader.row_groups(row, ["a"], ["s"])
            metadata = pq.read_metadata(path)
            assert groups is not None
            assert len(groups) == metadata.num_row_groups
            for place, group in enumerate(groups):
                assert group.start == extent(metadata.row_group(place).column(0))[0]
                values = pq.ParquetFile(path).read_row_group(place)
                for column, statistics in zip("as", group.statistics, strict=True):
                    known = [value for value in values[column].to_pylist() if value is not None]
                    low, high = (min(known), max(known)) if known else (None, None)
                    assert statistics == Statistics(low, high, values[column].null_count, 0)

    def test_row_groups_of_a_segment_are_checked(self, root: Path) -> None:
        changed = longs(30, 42, 50)
        change_table(root, "rowgroups.stats", 2, **{"min.a": changed, "max.a": changed})
        change_table(root, "rowgroups.stats", 1, midpoint=None)
        groups = [opened(root).row_groups(row, ["a"]) for row in range(5)]
        assert [each is None for each in groups] == [False, False, True, False, True]

    def test_bounds_are_never_mixed(self, root: Path) -> None:
        changed = {"0.null_count": longs(None, 1), "0.min": longs(29, 40), "0.max": None}
        change_table(root, "recorded.stats", 2, **changed)
        known = opened(root).statistics("a")
        assert known[2:] == [
            Statistics(20, 21, 2, 0), Statistics(30, 30, 0, 0), Statistics(40, None, 1, 0)
        ]  # fmt: skip

    def test_entry_that_only_later_segments_have(self, root: Path, build: Build) -> None:
        """Only the second file has a gap: the column of doubles has no values in the others."""
        shutil.rmtree(root)
        files = [[None, None], [1.5, math.nan], [None, None]]
        write(root / "0.parquet", d=pa.array(files[0], pa.float64()), a=longs(0, 0))
        index = build(spark_schema(d="double", a="long"), {"a": ["bloom"]}, fill_gaps=True)
        for file in (1, 2):
            values = pa.array(files[file], pa.float64())
            append(index, f"{file}.parquet", d=values, a=longs(file, file))
        documents = [
            json.loads(data_path(root, "recorded.json", segment).read_bytes())
            for segment in range(3)
        ]
        assert [len(document["entries"]) for document in documents] == [1, 2, 2]
        reader = opened(root)
        assert [(entry.kind, entry.path) for entry in reader.entries] == [
            ("bloom", ("a",)), ("bounds", ("d",))
        ]  # fmt: skip
        nothing = Statistics(None, None, 2, None)
        assert reader.statistics("d") == [nothing, Statistics(1.5, 1.5, 0, 1), nothing]
        for file in range(3):
            assert reader.probe(file, "a")[file]

    def test_segment_without_entries(self, root: Path) -> None:
        """`recorded.json` of the last segment that has one is in force."""
        pointer = pointer_of(root)
        last = pointer["appended"][-1]["data"]
        for name in list(last):
            if name.startswith(("recorded", "1.", "2.", "3.")):
                del last[name]
        change_pointer(root, **pointer)
        change_json(root, "recorded.json", lambda document: document.update(entries=[]))
        reader = opened(root)
        assert [len(reader.values("a")[row] or ()) for row in range(3)] == [4, 2, 2]
        assert reader.values("a")[3:] == [None, None]
        assert reader.probe(20, "a")[2:] == [True, None, None]
        assert reader.statistics("a")[3] == Statistics(30, 30, 0, 0)
        change_json(root, "recorded.json", lambda document: document.update(format=3), 1)
        assert opened(root).entries == []

    def test_column_that_is_not_described_is_unknown(self, root: Path) -> None:
        reader = opened(root)
        assert reader.statistics("x") == [UNKNOWN] * 5
        assert [group.statistics for group in reader.row_groups(4, ["x"]) or ()] == [(UNKNOWN,)] * 2

    def test_column_that_a_segment_lacks_is_unknown(self, root: Path) -> None:
        whole = opened(root).statistics("s")
        columns = dict.fromkeys(("min.s", "max.s", "null_count.s"))
        change_table(root, "files.stats", 1, **columns)
        expected = [*whole[:2], Statistics(None, None, None, 0), *whole[3:]]
        assert opened(root).statistics("s") == expected

    @pytest.mark.parametrize("segment", [0, 1, 2])
    def test_damage_of_one_segment(self, root: Path, segment: int) -> None:
        rows = [{0, 1}, {2}, {3, 4}][segment]
        # Entries of all files depend on the last `recorded.json`, and on no other.
        of_rows = ("values", "bloom", "sketches")
        entries = {name: set(range(5)) for name in of_rows} if segment == 2 else {}
        for name, unknown in [
            ("files.stats", None),
            ("checksums.json", None),
            ("rowgroups.stats", {"row groups": rows}),
            ("recorded.stats", dict.fromkeys(of_rows, rows)),
            ("recorded.json", entries),
            ("1.bits", {"bloom": rows}),
            ("2.values", {"values": rows}),
            ("3.sketches", {"sketches": rows}),
        ]:
            path = data_path(root, name, segment)
            content = path.read_bytes()
            path.write_bytes(content + b" ")
            assert self.unknown(root) == unknown
            path.unlink()
            assert self.unknown(root) == unknown
            path.write_bytes(content)
        assert self.unknown(root) == {}

    @staticmethod
    def unknown(root: Path) -> dict[str, set[int]] | None:
        """Return the files of which parts of the index know nothing. None: there is no index."""
        reader = PageReader.find(root)
        if reader is None:
            return None
        assert [each.null_count for each in reader.statistics("s")] == [1, 0, 2, 0, 1]
        assert [each.low for each in reader.statistics("a")] == [1, 8, 20, 30, 41]
        parts: dict[str, list[Any]] = {
            "values": reader.values("a"),
            "bloom": reader.probe(1, "a"),
            "sketches": reader.sketches("a"),
            "row groups": [reader.row_groups(row) for row in range(5)],
        }
        rows = {
            name: {row for row in range(5) if part[row] is None} for name, part in parts.items()
        }
        return {name: unknown for name, unknown in rows.items() if unknown}

    @pytest.mark.parametrize("segment", [0, 1, 2])
    def test_wrong_number_of_files_is_damage(self, root: Path, segment: int) -> None:
        pointer = pointer_of(root)
        (pointer["totals"] if segment == 0 else pointer["appended"][segment - 1])["files"] += 1
        (root / "_tamis" / "_index.json").write_bytes(sealed(pointer))
        assert PageReader.find(root) is None

    @pytest.mark.parametrize("field", page_reader.APPENDED_FIELDS)
    @pytest.mark.parametrize("is_missing", [False, True], ids=["changed", "missing"])
    def test_pointer_needs_each_field_of_appended(
        self, root: Path, field: str, is_missing: bool
    ) -> None:
        pointer = pointer_of(root)
        segment = pointer["appended"][1]
        del segment[field]
        if not is_missing:
            segment[field] = pointer["appended"][0][field]
        content = sealed(pointer) if is_missing else json.dumps(pointer).encode()
        (root / "_tamis" / "_index.json").write_bytes(content)
        with pytest.raises(Unusable, match="damaged" if is_missing else "checksum"):
            page_reader.current_pointer(root / "_tamis")

    @pytest.mark.parametrize("appended", ["missing", None, 7, [7]])
    def test_pointer_needs_appended(self, root: Path, appended: Any) -> None:
        pointer = pointer_of(root) | {"appended": appended}
        if appended == "missing":
            del pointer["appended"]
        (root / "_tamis" / "_index.json").write_bytes(sealed(pointer))
        with pytest.raises(Unusable, match="damaged"):
            page_reader.current_pointer(root / "_tamis")

    def test_checksum_of_appended(self, root: Path) -> None:
        """It covers the known fields only, in the order of the page."""
        pointer = pointer_of(root)
        for segment in pointer["appended"]:
            for document in (segment, *segment["data"].values()):
                fields = list(document.items())
                document.clear()
                document |= {"new": {}, **dict(reversed(fields))}
        (root / "_tamis" / "_index.json").write_text(json.dumps(pointer))
        assert len(opened(root).files) == 5
        pointer["appended"][0]["data"]["files.stats"]["checksum"] ^= 1
        (root / "_tamis" / "_index.json").write_text(json.dumps(pointer))
        assert PageReader.find(root) is None

    @pytest.mark.parametrize("version", [1, 2, 3])
    def test_earlier_formats_ignore_appended(
        self, root: Path, index: LocalIndex, version: int
    ) -> None:
        appended = pointer_of(root)["appended"]
        index.build(fill_gaps=False)
        change_pointer(root, format=version)
        if version == 1:
            to_visible_layout(root)
        path = root / "_tamis" / ("index.json" if version == 1 else "_index.json")
        # The checksum does not cover it either.
        path.write_text(json.dumps(json.loads(path.read_bytes()) | {"appended": appended}))
        reader = opened(root)
        assert reader.pointer["format"] == version
        assert len(reader.files) == 5

    @pytest.mark.parametrize(("time", "current"), [("last", 4), ("29990101T000000000000Z", 1)])
    def test_time_of_a_pointer_is_that_of_its_last_segment(
        self, root: Path, time: str, current: int
    ) -> None:
        pointer = pointer_of(root)
        if time == "last":
            time = pointer["appended"][-1]["directory"][1:-9]
            assert time > pointer["generation"][1:-9]
        del pointer["appended"]
        visible = sealed(pointer | {"format": 1, "generation": f"{time}-00000000"})
        (root / "_tamis" / "index.json").write_bytes(visible)
        assert page_reader.current_pointer(root / "_tamis")["format"] == current

    def append_twice(self, root: Path, index: LocalIndex) -> list[dict[str, Any]]:
        """Append the same file in two ways to the same segments. Return the two pointers."""
        path = root / "_tamis" / "_index.json"
        before = path.read_bytes()
        append(index, "3-0.parquet", a=longs(50, None), s=pa.array(["x", "y"]))
        pointers = [pointer_of(root)]
        path.write_bytes(before)
        index.refresh()
        return [*pointers, pointer_of(root)]

    def test_file_in_two_segments(self, root: Path, index: LocalIndex) -> None:
        """Two writers have appended the same file."""
        first, second = self.append_twice(root, index)
        appended = [*first["appended"], second["appended"][-1]]
        size = self.paths(root)[5].stat().st_size
        totals = first["totals"]
        for field, count in {"files": 1, "rows": 2, "row_groups": 1, "bytes": size}.items():
            totals[field] += count
        change_pointer(root, appended=appended, totals=totals)
        reader = opened(root)
        assert len(segments_of(reader.pointer)) == 5
        assert reader.row_of(self.paths(root)[5]) in (5, 6)
        assert reader.statistics("a")[5:] == [Statistics(50, 50, 1, 0)] * 2
        assert reader.values("a")[5:] == [[50]] * 2
        groups = [reader.row_groups(row, ["a"]) for row in (5, 6)]
        assert groups[0] == groups[1]
        assert len(groups[0] or ()) == 1

    def test_reader_starts_over_when_an_appended_segment_is_deleted(
        self, root: Path, index: LocalIndex, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The first segment of the new pointer is the same."""
        stale, current = self.append_twice(root, index)
        assert stale["generation"] == current["generation"]
        shutil.rmtree(root / "_tamis" / stale["appended"][-1]["directory"])
        stale["appended"].reverse()  # files of the last segment exist
        actual = page_reader.current_pointer
        read = [stale]
        monkeypatch.setattr(
            page_reader, "current_pointer", lambda path: read.pop() if read else actual(path)
        )
        reader = opened(root)
        assert (read, reader.pointer["appended"]) == ([], current["appended"])
        assert reader.values("a")[5] == [50]

    def test_merged_segments_have_the_same_rows_in_the_same_order(
        self, root: Path, build: Build
    ) -> None:
        shutil.rmtree(root)
        schema = spark_schema(a="long", d="double")
        index, counts, rows = None, [], range(34)
        for row in rows:
            # Row 0 has no gap, so the entry of `d` is not in the first segment.
            doubles = [[None, None], [row / 2, math.nan], [math.nan, None]][row % 3]
            write(root / f"{row:02}.parquet", a=longs(row, None), d=pa.array(doubles, pa.float64()))
            index = index or build(schema, {"a": ALL_KINDS}, fill_gaps=True)
            index.refresh()
            counts.append(len(segments_of(pointer_of(root))))
        assert any(after < before for before, after in pairwise(counts))
        reader = opened(root)
        assert [reader.row_of(path) for path in self.paths(root)] == list(rows)
        of_a = [Statistics(row, row, 1, 0) for row in rows]
        assert reader.statistics("a") == of_a
        groups = [reader.row_groups(row, ["a"]) or () for row in rows]
        assert [[each.statistics for each in part] for part in groups] == [
            [(each,)] for each in of_a
        ]
        assert reader.values("a") == [[row] for row in rows]
        for row in rows:
            answers = reader.probe(row, "a")
            assert answers[row]
            assert answers.count(False) > 0.8 * len(rows)
        nothing, nan = Statistics(None, None, 2, None), Statistics(None, None, 1, 1)
        of_d = [[nothing, Statistics(row / 2, row / 2, 0, 1), nan][row % 3] for row in rows]
        assert reader.statistics("d") == of_d

    def test_unreadable_file(self, root: Path, index: LocalIndex) -> None:
        (root / "3-0.parquet").write_bytes(b"")
        index.refresh()
        reader = opened(root)
        assert len(segments_of(reader.pointer)) == 4
        assert [file.problem is None for file in reader.files] == [True] * 5 + [False]
        assert reader.statistics("a")[5] == Statistics(None, None, None, 0)
        assert (reader.row_groups(5), reader.values("a")[5]) == (None, None)
        assert reader.pointer["totals"]["unreadable"] == len(reader.pointer["problems"]) == 1
        assert {column["nulls"] for column in reader.pointer["columns"]} == {None}

    def test_first_segment_without_files(self, root: Path, build: Build) -> None:
        shutil.rmtree(root)
        root.mkdir()
        index = build(spark_schema(a="long"), {"a": ALL_KINDS})
        append(index, "0.parquet", a=longs(1, None))
        reader = opened(root)
        assert reader.row_of(root / "0.parquet") == 0
        assert reader.statistics("a") == [Statistics(1, 1, 1, 0)]
        assert (reader.values("a"), reader.probe(1, "a")) == ([[1]], [True])
        assert len(reader.row_groups(0, ["a"]) or ()) == 1

    def test_index_of_other_columns_is_not_appended_to(self, root: Path, index: LocalIndex) -> None:
        index.schema = spark_schema(a="long", s="string", t="long")
        write(root / "3-0.parquet", a=longs(1), s=pa.array(["x"]), t=longs(9))
        index.refresh()
        assert pointer_of(root)["format"] == 3
        known = opened(root).statistics("t")
        assert known == [
            *(Statistics(None, None, rows, 0) for rows in (5, 3, 4, 2, 3)),
            Statistics(9, 9, 0, 0),
        ]


class TestRowStatistics:
    def test_bounds_come_from_rows_where_recorded(
        self, root: Path, build: Build, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        long = "y" * 300
        for file in range(2):
            write(root / f"{file}.parquet", s=pa.array(["x", long, None]))
        actual = local._values
        monkeypatch.setattr(
            local, "_values", lambda entry, path: None if path.stem == "1" else actual(entry, path)
        )
        build(spark_schema(s="string"), {"s": "bounds"})
        rows, footer = opened(root).statistics("s")
        assert rows == Statistics("x", long, 1, 0, attained=True)
        assert long < footer.high < "z"
        assert footer == Statistics("x", footer.high, 1, 0, attained=False)

    def test_bounds_are_never_mixed(self, root: Path, build: Build) -> None:
        for file in range(2):
            write(root / f"{file}.parquet", s=pa.array(["a", "b"]))
        build(spark_schema(s="string"), {"s": "bounds"})
        changed = {
            "0.min": pa.array([b"c", b"c"]),
            "0.max": pa.nulls(2, pa.binary()),
            "0.null_count": longs(0, None),
            "0.attained": pa.array([True, True]),
        }
        change_table(root, "recorded.stats", **changed)
        rows, footer = opened(root).statistics("s")
        assert rows == Statistics("c", None, 0, 0, attained=True)
        assert footer == Statistics("a", "b", 0, 0, attained=False)

    def test_bloom_filters_of_many_values(self, root: Path, build: Build) -> None:
        numbers = [k * 7919 - 10**6 for k in range(600)]
        words = [f"é{k}" * (k % 20) for k in range(600)]  # from 0 to more than 32 bytes
        for file in range(3):
            columns = longs(*numbers[file::3]), pa.array(words[file::3])
            write(root / f"{file}.parquet", **dict(zip("ns", columns, strict=True)))
        build(spark_schema(n="long", s="string"), {"n": "bloom", "s": "bloom"})
        reader = opened(root)
        sizes = [len(data_path(root, f"{k}.bits").read_bytes()) for k in range(2)]
        assert min(sizes) >= 3 * 8 * 32  # several blocks per filter
        for name, values in (("n", numbers), ("s", words)):
            for place in range(0, 600, 7):
                assert reader.probe(values[place], name)[place % 3] is True
        absent = [reader.probe(k, "n") for k in range(1, 200)]
        assert sum(answer.count(False) for answer in absent) > 0.9 * 3 * 199

    def test_long_lists_are_unknown(self, root: Path, build: Build) -> None:
        for file, rows in enumerate([1000, 1001, 0]):
            write(root / f"{file}.parquet", a=longs(*range(rows), None))
        build(spark_schema(a="long"), {"a": "values"})
        lists = opened(root).values("a")
        assert [None if values is None else len(values) for values in lists] == [1000, None, 0]

    def test_entries_of_expressions_are_ignored(self, root: Path, build: Build) -> None:
        write(root / "0.parquet", a=longs(1, 5))
        build(spark_schema(a="long"), {"a": "values"}, ["twice(a)"])
        recorded = json.loads(data_path(root, "recorded.json").read_bytes())
        assert len(recorded["entries"]) == 3
        reader = opened(root)
        known = [(entry.kind, entry.path, entry.type) for entry in reader.entries]
        assert known == [("values", ("a",), "long")]
        assert reader.values("a") == [[1, 5]]

    def test_bounds_of_another_type_are_not_used(self, root: Path, build: Build) -> None:
        write(root / "0.parquet", a=longs(1, 5))
        build(spark_schema(a="long"), {"a": "bounds"})
        change_table(root, "recorded.stats", **{"0.min": longs(2)})
        assert opened(root).statistics("a")[0].low == 2
        change_json(root, "recorded.json", lambda d: d["entries"][0].update(type="timestamp"))
        assert opened(root).statistics("a")[0].low == 1


def block_of(value: str) -> bytes:
    code = xxh64(value.encode())
    words = [1 << (code >> 5 * at & 31) for at in range(8)]
    return b"".join(word.to_bytes(4, "little") for word in words)


def test_blocks_of_the_page() -> None:
    code = xxh64(b"buy")
    assert code == 0xB6A6A79A05389A0F
    assert code >> 40 & 7 == 7
    one, two = re.findall(r"^    ((?:[0-9a-f]{8} ){7}[0-9a-f]{8})$", PAGE, re.M)
    assert bytes.fromhex(one) == block_of("buy")
    both = bytes(a | b for a, b in zip(block_of("buy"), block_of("view"), strict=True))
    assert bytes.fromhex(two) == both
    assert page_reader._is_in_filter(bytes(224) + block_of("buy"), code)
    assert not page_reader._is_in_filter(block_of("buy") + bytes(224), code)


@pytest.mark.parametrize("spark_type", TYPES)
def test_hashes_are_those_of_tamis(spark_type: str) -> None:
    data_type = DataType.parse(spark_type)
    assert data_type is not None
    arrow_type, files, *_ = TYPES[spark_type]
    values = [value for file in files for value in file if is_ordinary(value)]
    if spark_type == "string":
        values += ["x" * length for length in range(100)]
    if spark_type == "decimal(38,10)":
        numbers = [sign * 2**k - less for k in range(90) for sign in (-1, 1) for less in (0, 1)]
        values += [Decimal(number).scaleb(-10) for number in numbers]
    values = pa.array(values, arrow_type).to_pylist()  # decimals get all digits of the scale
    ours = [xxh64(hashed_bytes(plain(value), spark_type)) for value in values]
    edge = [v if isinstance(v, bool | Decimal) else plain(v) for v in values]
    theirs = hashes_of(edge_of(edge, data_type), data_type)
    assert [int(each) & (1 << 64) - 1 for each in theirs] == ours


@pytest.mark.parametrize(
    ("rows", "statistics", "is_contradictory"),
    [
        (2, Statistics(1, 2, 0, 0), False),
        (2, Statistics(2, 1, 0, 0), True),
        (2, Statistics(math.nan, None, 0, 0), True),
        (2, Statistics(None, None, -1, 0), True),
        (2, Statistics(None, None, 3, 0), True),
        (2, Statistics(None, None, 1, 2), True),
        (2, Statistics(None, None, 2, None), False),
        (2, Statistics(None, None, 1, 1), False),
        (2, Statistics(1, None, 1, 1), True),
        (2, Statistics(1, None, 1, None), False),
        (2, Statistics(0.0, -0.0, 0, 0), False),
        (None, Statistics(1, 1, 5, 0), False),
    ],
)  # fmt: skip
def test_contradictory_statistics_are_unknown(
    rows: int | None, statistics: Statistics, is_contradictory: bool
) -> None:
    assert statistics.checked(rows) == (UNKNOWN if is_contradictory else statistics)
