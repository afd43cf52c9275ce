"""Statistics of columns read from Parquet footers: written values and the facts derived from them."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.indexing.executor.columns_schema import Leaf, leaves_of
from tamis.indexing.executor.footers import UNKNOWN, Footer, FooterReader
from tests.indexing.compact import read_footer, write_footer
from tests.indexing.compact import statistics_of as stored
from tests.indexing.local import spark_schema

SPARK_4 = {"org.apache.spark.version": "4.1.3"}


def footer_of(
    table: pa.Table, leaves: list[Leaf], case_sensitive: bool = True, **options: Any
) -> Footer:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return FooterReader(leaves, case_sensitive).read(pq.read_metadata(sink))


def statistics_of(values: pa.Array, spark_type: str, name: str = "c", **options: Any) -> Any:
    """Return the triple of a column written as `name` and read as `c` with a Spark type."""
    metadata = options.pop("metadata", None)
    table = pa.table({name: values}).replace_schema_metadata(metadata)
    return footer_of(table, [Leaf(("c",), spark_type)], **options).columns[0]


def decimals(*texts: str | None) -> list[Decimal | None]:
    return [None if text is None else Decimal(text) for text in texts]


@pytest.mark.parametrize(
    ("values", "spark_type", "expected"),
    [
        (pa.array([3, None, 7], pa.int64()), "long", (3, 7, 1)),
        (pa.array([3, -7], pa.int32()), "integer", (-7, 3, 0)),
        (pa.array([3, -7], pa.int32()), "long", (-7, 3, 0)),
        (pa.array([3, -7], pa.int8()), "byte", (-7, 3, 0)),
        (pa.array([3, -7], pa.int8()), "short", (-7, 3, 0)),
        (pa.array([3, -7], pa.int16()), "integer", (-7, 3, 0)),
        (pa.array([3, 200], pa.uint8()), "short", (3, 200, 0)),
        (pa.array([3, 65_535], pa.uint16()), "integer", (3, 65_535, 0)),
        (pa.array([3, 2**32 - 1], pa.uint32()), "long", (3, 2**32 - 1, 0)),
        (pa.array([True, False]), "boolean", (0, 1, 0)),
        (pa.array([1.5, None], pa.float64()), "double", (1.5, 1.5, 1)),
        (pa.array([1.5, -2.5], pa.float32()), "float", (-2.5, 1.5, 0)),
        (pa.array([0.1], pa.float32()), "double", (pytest.approx(0.1, 1e-6),) * 2 + (0,)),
        (pa.array(["b", "a", None]), "string", (b"a", b"b", 1)),
        (pa.array([b"\xff", b"a"]), "binary", (b"a", b"\xff", 0)),
        (pa.array([dt.date(1995, 1, 1)]), "date", (9131, 9131, 0)),
        (pa.array([5], pa.timestamp("us", "UTC")), "timestamp", (5, 5, 0)),
        (pa.array([5], pa.timestamp("ms", "UTC")), "timestamp", (5000, 5000, 0)),
        (pa.array([-5], pa.timestamp("us")), "timestamp_ntz", (-5, -5, 0)),
        (pa.array(decimals("1.20", "-3.40"), pa.decimal128(9, 2)), "decimal(9,2)", (-340, 120, 0)),
        (pa.array(decimals("1.20", None), pa.decimal128(9, 2)), "decimal(18,2)", (120, 120, 1)),
        (pa.array(decimals("1.2"), pa.decimal128(38, 1)), "decimal(38,1)", (12, 12, 0)),
        (pa.array([None, None], pa.int64()), "long", (None, None, 2)),
        (pa.array([], pa.int64()), "long", (None, None, 0)),
    ],
)
def test_losslessly_read_types_keep_their_statistics(
    values: pa.Array, spark_type: str, expected: Any
) -> None:
    assert statistics_of(values, spark_type) == expected


@pytest.mark.parametrize(
    ("values", "spark_type"),
    [
        (pa.array([3], pa.int64()), "integer"),
        (pa.array([3], pa.int32()), "short"),
        (pa.array([3], pa.uint32()), "integer"),
        (pa.array([3], pa.uint8()), "byte"),
        (pa.array([3], pa.uint64()), "long"),
        (pa.array([3], pa.int64()), "double"),
        (pa.array([3], pa.int64()), "string"),
        (pa.array([3], pa.int64()), "timestamp"),
        (pa.array([3], pa.int64()), "boolean"),
        (pa.array([3], pa.int32()), "date"),
        (pa.array([3.5], pa.float64()), "float"),
        (pa.array([3.5], pa.float64()).cast(pa.float16()), "float"),
        (pa.array([b"a"]), "string"),
        (pa.array(["a"]), "binary"),
        (pa.array([b"a"], pa.binary(1)), "binary"),
        (pa.array([5], pa.timestamp("us")), "timestamp"),
        (pa.array([5], pa.timestamp("us", "UTC")), "timestamp_ntz"),
        (pa.array([5], pa.timestamp("ns", "UTC")), "timestamp"),
        (pa.array(decimals("1.20"), pa.decimal128(9, 2)), "decimal(8,2)"),
        (pa.array(decimals("1.20"), pa.decimal128(9, 2)), "decimal(9,3)"),
        (pa.array(decimals("1.20"), pa.decimal128(9, 2)), "decimal(9,1)"),
        (pa.array([3], pa.int32()), "decimal(9,0)"),
        (pa.array([dt.time(1)]), "long"),
        (pa.array([None], pa.null()), "integer"),
        (pa.array([[1]]), "long"),
        (pa.array([{"x": 1}]), "long"),
    ],
)
def test_other_type_pairs_have_no_bounds(values: pa.Array, spark_type: str) -> None:
    assert statistics_of(values, spark_type) == UNKNOWN


def test_int96_has_no_bounds() -> None:
    values = pa.array([5], pa.timestamp("us", "UTC"))
    assert statistics_of(values, "timestamp", use_deprecated_int96_timestamps=True) == UNKNOWN


def test_decimals_stored_as_integers_have_bounds() -> None:
    values = pa.array(decimals("1.20", "-3.40"), pa.decimal128(9, 2))
    assert statistics_of(values, "decimal(9,2)", store_decimal_as_integer=True) == (-340, 120, 0)


class TestRowGroups:
    def test_file_bounds_are_the_union_of_row_group_bounds(self) -> None:
        footer = footer_of(
            pa.table({"c": [5, 1, None, None, 9, 2]}), [Leaf(("c",), "long")], row_group_size=2
        )
        assert [g.columns[0] for g in footer.row_groups] == [(1, 5, 0), (None, None, 2), (2, 9, 0)]
        assert footer.columns == [(1, 9, 2)]

    def test_extents_are_disjoint_and_ordered(self) -> None:
        footer = footer_of(pa.table({"c": [5, 1, 2, 9]}), [], row_group_size=2)
        first, second = footer.row_groups
        assert 4 <= first.start < first.start + first.length <= second.start

    def test_row_group_without_statistics_makes_the_file_unknown(self) -> None:
        first, second = io.BytesIO(), io.BytesIO()
        pq.write_table(pa.table({"c": [1]}), first)
        pq.write_table(pa.table({"c": [2]}), second, write_statistics=False)
        joined = pq.read_metadata(first)
        joined.append_row_groups(pq.read_metadata(second))
        footer = FooterReader([Leaf(("c",), "long")], True).read(joined)
        assert footer.num_records == 2
        assert footer.columns == [UNKNOWN]

    def test_empty_row_group_has_no_effect(self) -> None:
        first, second = io.BytesIO(), io.BytesIO()
        pq.write_table(pa.table({"c": [1]}), first)
        pq.write_table(pa.table({"c": pa.array([], pa.int64())}), second)
        with pq.ParquetWriter(second, pa.schema({"c": pa.int64()})) as writer:
            writer.write_table(pa.table({"c": pa.array([], pa.int64())}))
        joined = pq.read_metadata(first)
        joined.append_row_groups(pq.read_metadata(second))
        assert FooterReader([Leaf(("c",), "long")], True).read(joined).columns == [(1, 1, 0)]


class TestFloats:
    def test_nan_is_outside_the_bounds_and_stays_possible(self) -> None:
        assert statistics_of(pa.array([1.0, float("nan")]), "double") == (1.0, 1.0, 0)

    def test_column_of_nan_only_has_no_bounds(self) -> None:
        assert statistics_of(pa.array([float("nan")]), "double") == (None, None, 0)


class TestText:
    def test_long_bounds_are_truncated_outwards(self) -> None:
        low, high, _ = statistics_of(pa.array(["a" * 300, "z" * 300]), "string")
        assert low == b"a" * 128
        assert high == b"z" * 127 + b"{"

    def test_last_code_point_has_no_successor(self) -> None:
        low, high, _ = statistics_of(pa.array(["\U0010ffff" * 60]), "string")
        assert low == ("\U0010ffff" * 32).encode()
        assert high is None

    def test_long_binary_bounds_are_truncated_outwards(self) -> None:
        values = pa.array([b"\x00" * 300, b"\xfe" + b"\xff" * 300])
        assert statistics_of(values, "binary") == (b"\x00" * 128, b"\xff", 0)

    def test_empty_maximum_is_ignored(self) -> None:
        # A footer with minimum "" and no maximum looks the same.
        assert statistics_of(pa.array(["", ""]), "string") == (b"", None, 0)


class TestOldDates:
    DATE = pa.array([dt.date(1500, 1, 1), dt.date(2000, 1, 1)])
    TIME = pa.array([dt.datetime(1850, 1, 1), dt.datetime(2000, 1, 1)], pa.timestamp("us"))

    def test_dates_of_an_unknown_calendar(self) -> None:
        assert statistics_of(self.DATE, "date") == (None, None, 0)
        assert statistics_of(self.TIME, "timestamp_ntz") == (None, None, 0)

    def test_dates_written_by_spark_3_and_later(self) -> None:
        assert statistics_of(self.DATE, "date", metadata=SPARK_4)[:2] == (-171_664, 10_957)
        assert statistics_of(self.TIME, "timestamp_ntz", metadata=SPARK_4)[0] is not None

    @pytest.mark.parametrize("key", ["legacyDateTime", "legacyINT96"])
    def test_dates_written_by_spark_in_legacy_mode(self, key: str) -> None:
        metadata = {**SPARK_4, f"org.apache.spark.{key}": ""}
        assert statistics_of(self.DATE, "date", metadata=metadata) == (None, None, 0)

    def test_dates_written_by_spark_2(self) -> None:
        metadata = {"org.apache.spark.version": "2.4.8"}
        assert statistics_of(self.DATE, "date", metadata=metadata) == (None, None, 0)


class TestNames:
    def test_case_sensitive_table_requires_the_exact_name(self) -> None:
        assert statistics_of(pa.array([1]), "long", name="C") == (None, None, 1)  # absent: all NULL

    def test_case_insensitive_table_accepts_other_case(self) -> None:
        assert statistics_of(pa.array([1]), "long", name="C", case_sensitive=False) == (1, 1, 0)

    def test_names_that_differ_only_in_case(self) -> None:
        table = pa.table({"c": [1], "C": [2]})
        leaf = [Leaf(("c",), "long")]
        assert footer_of(table, leaf, case_sensitive=True).columns == [(1, 1, 0)]
        assert footer_of(table, leaf, case_sensitive=False).columns == [UNKNOWN]

    def test_column_with_a_dot_is_not_a_struct_field(self) -> None:
        leaves = [Leaf(("b", "c"), "long")]
        assert footer_of(pa.table({"b.c": [1]}), leaves).columns == [(None, None, 1)]
        struct = pa.table({"b": [{"c": 2}, None]})
        assert footer_of(struct, leaves).columns == [(2, 2, 1)]
        assert footer_of(struct, [Leaf(("b.c",), "long")]).columns == [(None, None, 2)]

    def test_column_with_a_dot_next_to_a_struct_of_that_field(self) -> None:
        table = pa.table({"b.c": [1], "b": [{"c": 2}]})
        assert footer_of(table, [Leaf(("b", "c"), "long")]).columns == [(2, 2, 0)]

    @pytest.mark.parametrize("name", ["a b", "ünï", "x=1#%", "a;b", "a {\n}", "`", ""])
    def test_special_characters_in_names(self, name: str) -> None:
        table = pa.table({name: [1, 2], "other": [3, 4]})
        leaves = [Leaf((name,), "long"), Leaf(("other",), "long")]
        assert footer_of(table, leaves).columns == [(1, 2, 0), (3, 4, 0)]

    def test_name_that_looks_like_an_annotation_is_distinguished(self) -> None:
        # Both schemas are printed as "optional binary c (String)".
        tables = [pa.table({"c (String)": [b"x"]}), pa.table({"c": ["y"]})]
        reader = FooterReader([Leaf(("c",), "string")], True)
        triples = []
        for table in tables:
            sink = io.BytesIO()
            pq.write_table(table, sink, store_schema=False)
            triples += reader.read(pq.read_metadata(sink)).columns
        assert triples == [(None, None, 1), (b"y", b"y", 0)]

    def test_equal_leaf_names_in_different_structs_are_distinguished(self) -> None:
        reader = FooterReader([Leaf(("a", "x"), "long")], True)
        triples = []
        for name in ("a", "b"):
            sink = io.BytesIO()
            pq.write_table(pa.table({name: [{"x": 1}]}), sink)
            triples.append(reader.read(pq.read_metadata(sink)).columns[0])
        assert triples == [(1, 1, 0), (None, None, 1)]


class TestAbsentColumns:
    def test_absent_column_is_null_in_every_row(self) -> None:
        assert statistics_of(pa.array([1, 2]), "long", name="other") == (None, None, 2)

    def test_absent_field_of_a_present_struct_is_null(self) -> None:
        table = pa.table({"s": [{"x": 1}]})
        assert footer_of(table, [Leaf(("s", "y"), "long")]).columns == [(None, None, 1)]

    def test_absent_column_with_a_default_is_unknown(self) -> None:
        leaf = Leaf(("c",), "long", has_default=True)
        assert footer_of(pa.table({"other": [1]}), [leaf]).columns == [UNKNOWN]

    @pytest.mark.parametrize("values", [[1], [[1]], [{"y": 1}], [{"y": [1]}]])
    def test_column_of_another_shape_is_unknown(self, values: list[Any]) -> None:
        table = pa.table({"s": values})
        assert footer_of(table, [Leaf(("s", "y", "z"), "long")]).columns == [UNKNOWN]

    def test_struct_in_place_of_a_leaf_is_unknown(self) -> None:
        table = pa.table({"s": [{"y": 1}]})
        assert footer_of(table, [Leaf(("s",), "long")]).columns == [UNKNOWN]


class TestWriters:
    """Bounds by writer.

    The tests patch created_by in place, so the new name is padded to the old length.
    """

    @staticmethod
    def written_by(
        created_by: bytes,
        values: pa.Array,
        spark_type: str,
        store_schema: bool = False,
        **options: Any,
    ) -> Any:
        sink = io.BytesIO()
        pq.write_table(pa.table({"c": values}), sink, store_schema=store_schema, **options)
        content = sink.getvalue()
        ours = pq.read_metadata(sink).created_by.encode()
        assert content.count(ours) == 1
        patched = content.replace(ours, created_by.ljust(len(ours))[: len(ours)])
        metadata = pq.read_metadata(pa.BufferReader(patched))
        return FooterReader([Leaf(("c",), spark_type)], True).read(metadata).columns[0]

    @pytest.mark.parametrize(
        ("created_by", "trusted"),
        [
            (b"parquet-mr version 1.13.1 (build", True),
            (b"parquet-mr version 1.10.0 (build", True),
            (b"parquet-mr version 1.8.1 (build", False),
            (b"parquet-mr version 1.9.0 (build", False),
            (b"parquet-mr", False),
            (b"impala version 3.4", False),
            (b"somebody", False),
            (b"DuckDB version v1.1.0 (build x)", True),
            (b"parquet-go version 18.0.0", True),
            (b"parquet-go version latest", False),
            (b"parquet-go", False),
        ],
    )
    def test_trust_in_text_bounds_depends_on_the_writer(
        self, created_by: bytes, trusted: bool
    ) -> None:
        low, high, _ = self.written_by(created_by, pa.array(["a", "b"]), "string")
        assert (low, high) == ((b"a", b"b") if trusted else (None, None))

    @pytest.mark.parametrize(
        ("created_by", "is_encoded", "row_groups", "nulls"),
        [
            (b"DuckDB", False, 1, None),
            (b"DuckDB", False, 2, None),
            (b"DuckDB version v1.1.0 (build x)", True, 2, 2),
            (b"KUZU", False, 1, None),
            (b"Polars", True, 1, None),
            (b"Polars", False, 2, 2),
            (b"Polars (python) version 2.0.0", True, 2, 2),
            (b"Arrow2 - Native Rust", True, 1, None),
            (b"Arrow2 - Native Rust", False, 1, 2),
            (b"parquet-mr version 1.13.1 (build", True, 2, 2),
            (b"parquet-cpp-arrow version 20.0.0", True, 2, 2),
            (b"somebody", True, 1, 2),
            (b"somebody", True, 2, None),
        ],
    )
    def test_trust_in_null_counts_depends_on_the_writer(
        self, created_by: bytes, is_encoded: bool, row_groups: int, nulls: int | None
    ) -> None:
        """Some writers count the NULLs of earlier row groups too, or those of a dictionary."""
        values = pa.array([1, None, 1, None], pa.int64())
        size = len(values) // row_groups
        triple = self.written_by(
            created_by, values, "long", use_dictionary=is_encoded, row_group_size=size
        )
        assert triple[2] == nulls

    def test_bounds_of_numbers_are_trusted(self) -> None:
        values = pa.array([1, 2], pa.int64())
        assert self.written_by(b"parquet-mr version 1.9.0 (build", values, "long") == (1, 2, 0)

    def test_ordered_categories_of_fastparquet_are_not_trusted(self) -> None:
        # Their bounds follow the order of the categories, which may be 1 < 3 < 2.
        values = pa.array([1, 2], pa.int64())
        triple = self.written_by(b"fastparquet-python version 2026.9", values, "long")
        assert triple == (None, None, 0)

    @pytest.mark.parametrize(
        ("values", "spark_type"),
        [
            # Polars combines the bounds of pages wrongly: -10 … 10 and 5 … 20 become 5 … 20,
            (pa.array(decimals("5", "20"), pa.decimal128(24, 0)), "decimal(24,0)"),
            # and 1 … 3000000000 and 2 … 5 become 1 … 5.
            (pa.array([1, 5], pa.uint32()), "long"),
            # It counts NULL as false, so the bound false may be the value of no row.
            (pa.array([True, False]), "boolean"),
        ],
    )
    def test_bounds_that_polars_combines_are_not_trusted(
        self, values: pa.Array, spark_type: str
    ) -> None:
        triple = self.written_by(b"Polars", values, spark_type, use_dictionary=False)
        assert triple == (None, None, 0)

    @pytest.mark.parametrize(
        ("values", "spark_type", "expected"),
        [
            (pa.array([1, 5], pa.int64()), "long", (1, 5, 0)),
            (pa.array([1, 5], pa.uint16()), "integer", (1, 5, 0)),
            (pa.array([1.5]), "double", (1.5, 1.5, 0)),
            (pa.array(["a"]), "string", (b"a", b"a", 0)),
        ],
    )
    def test_other_bounds_of_polars_are_trusted(
        self, values: pa.Array, spark_type: str, expected: Any
    ) -> None:
        triple = self.written_by(b"Polars", values, spark_type, use_dictionary=False)
        assert triple == expected

    def test_floats_of_old_parquet_cpp_are_not_trusted(self) -> None:
        # A NaN among the values hid the value after it.
        triple = self.written_by(b"parquet-cpp version 1.5.1-SNAPSH", pa.array([1.5]), "double")
        assert triple == (None, None, 0)

    @pytest.mark.parametrize("created_by", [b"parquet-go", b"parquet-go version latest"])
    def test_null_counts_of_some_go_libraries_are_not_trusted(self, created_by: bytes) -> None:
        triple = self.written_by(created_by, pa.array([1, 2], pa.int64()), "long")
        assert triple == (1, 2, None)

    @pytest.mark.parametrize(
        ("created_by", "nulls"), [(b"somebody", None), (b"parquet-mr version 1.8.1 (build", 0)]
    )
    def test_null_counts_of_fields_depend_on_the_writer(
        self, created_by: bytes, nulls: int | None
    ) -> None:
        # cudf did not count the rows in which the struct is NULL.
        sink = io.BytesIO()
        pq.write_table(pa.table({"s": [{"x": 1}]}), sink, store_schema=False)
        ours = pq.read_metadata(sink).created_by.encode()
        patched = sink.getvalue().replace(ours, created_by.ljust(len(ours))[: len(ours)])
        metadata = pq.read_metadata(pa.BufferReader(patched))
        triple = FooterReader([Leaf(("s", "x"), "long")], True).read(metadata).columns[0]
        assert triple == (1, 1, nulls)

    @pytest.mark.parametrize(
        ("version", "dictionary", "store_schema", "is_known"),
        [
            (b"9.0.0", True, True, False),
            (b"9.0.0", False, True, True),
            (b"9.0.0", False, False, False),
            (b"12.0.0", True, True, True),
            (b"12.0.0", False, False, True),
        ],
    )
    def test_dictionaries_of_old_arrow_are_unknown(
        self, version: bytes, dictionary: bool, store_schema: bool, is_known: bool
    ) -> None:
        # The statistics were those of the first batch, and before version 6 had no NULL.
        values = pa.array(["a", "b"])
        if dictionary:
            values = values.dictionary_encode()
        writer = b"parquet-cpp-arrow version " + version
        triple = self.written_by(writer, values, "string", store_schema)
        assert triple == ((b"a", b"b", 0) if is_known else UNKNOWN)

    def test_bounds_contradict_a_count_of_only_nulls(self) -> None:
        sink = io.BytesIO()
        pq.write_table(pa.table({"c": pa.array([1, 2], pa.int64())}), sink, store_schema=False)
        # field 3, the number of NULLs, before field 5 of eight bytes
        head, none, tail = sink.getvalue().rpartition(b"\x16\x00\x28\x08")
        assert none
        patched = head + b"\x16\x04\x28\x08" + tail
        metadata = pq.read_metadata(pa.BufferReader(patched))
        assert FooterReader([Leaf(("c",), "long")], True).read(metadata).columns == [UNKNOWN]

    def test_sign_extended_bytes_are_out_of_range(self) -> None:
        # Spark reads the bits of such a UINT_8 as -56, not as 200.
        sink = io.BytesIO()
        pq.write_table(pa.table({"c": pa.array([200], pa.uint8())}), sink, store_schema=False)
        content = sink.getvalue()
        raw = (200).to_bytes(4, "little")
        footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        extended = content[:footer] + content[footer:].replace(
            raw, (-56).to_bytes(4, "little", signed=True)
        )
        metadata = pq.read_metadata(pa.BufferReader(extended))
        reader = FooterReader([Leaf(("c",), "short")], True)
        assert reader.read(metadata).columns[0] == (None, None, 0)

    def test_decimals_in_bytes_are_not_trusted(self) -> None:
        values = pa.array(decimals("1.20"), pa.decimal128(9, 2))
        triple = self.written_by(b"parquet-mr version 1.9.0 (build", values, "decimal(9,2)")
        assert triple[:2] == (None, None)


class TestLeaves:
    def test_leaves_include_struct_fields_but_not_list_elements(self) -> None:
        schema = spark_schema(
            a="long",
            s={"x": "string", "t": {"y": "date"}},
            l={"z": "interval day to second"},
        )
        assert [leaf.name for leaf in leaves_of(schema)] == ["a", "s.x", "s.t.y"]

    def test_ambiguous_names_are_left_out(self) -> None:
        schema = spark_schema(**{"b.c": "long", "b": {"c": "long", "d": "long"}})
        assert [leaf.path for leaf in leaves_of(schema)] == [("b", "d")]

    @pytest.mark.parametrize("metadata", ['{"parquet.field.id": 3}', '{"__COLLATIONS": {}}'])
    def test_columns_with_other_semantics_are_left_out(self, metadata: str) -> None:
        schema = spark_schema(a="string").replace('"metadata": {}', f'"metadata": {metadata}')
        assert leaves_of(schema) == ()

    def test_leaf_records_a_default(self) -> None:
        schema = spark_schema(a="long").replace(
            '"metadata": {}', '"metadata": {"EXISTS_DEFAULT": "5"}'
        )
        assert leaves_of(schema) == (Leaf(("a",), "long", True),)


class TestUnusableStatistics:
    """Footers that no library writes, from a writer whose footers are parsed a second time."""

    @staticmethod
    def changed(
        path: Path, values: pa.Array, spark_type: str, bounds: dict[int, Any], writer: bytes = b"x"
    ) -> Any:
        pq.write_table(pa.table({"c": values}), path)
        footer = read_footer(path)
        footer[6] = (8, writer)
        stored(footer, 0, 0).update(bounds)
        write_footer(path, footer)
        return (
            FooterReader([Leaf(("c",), spark_type)], True).read(pq.read_metadata(path)).columns[0]
        )

    @pytest.mark.parametrize(
        ("values", "spark_type", "length"),
        [
            (pa.array([1, 2], pa.int64()), "long", 4),
            (pa.array([1, 2], pa.int64()), "long", 0),
            (pa.array([1, 2], pa.int32()), "integer", 2),
            (pa.array([1.0, 2.0]), "double", 4),
            (pa.array([True, False]), "boolean", 0),
            (pa.array(decimals("1", "5"), pa.decimal128(38, 2)), "decimal(38,2)", 8),
        ],
    )
    def test_bounds_of_another_length_do_not_end_the_process(
        self, tmp_path: Path, values: pa.Array, spark_type: str, length: int
    ) -> None:
        low = {6: (8, bytes(length)), 2: (8, bytes(length))}
        assert self.changed(tmp_path / "f.parquet", values, spark_type, low) == UNKNOWN

    @pytest.mark.parametrize("flag", [7, 8])
    @pytest.mark.parametrize(
        ("values", "spark_type", "is_exact", "bounds"),
        [
            (pa.array([1, 2], pa.int64()), "long", False, (None, None)),
            (pa.array([1, 2], pa.int64()), "long", True, (1, 2)),
            (pa.array([b"a", b"b"]), "binary", False, (b"a", b"b")),
        ],
    )
    def test_inexact_bounds_of_numbers_are_ignored(
        self, tmp_path: Path, flag: int, values: Any, spark_type: str, is_exact: bool, bounds: Any
    ) -> None:
        flags = {flag: (1, is_exact)}
        triple = self.changed(
            tmp_path / "f.parquet", values, spark_type, flags, b"DuckDB version v1.4.0 (build x)"
        )
        assert triple[:2] == bounds

    def test_other_columns_and_row_groups_are_not_affected(self, tmp_path: Path) -> None:
        path = tmp_path / "f.parquet"
        table = pa.table({"a": [1, 2, 3, 4], "s": [{"b": n} for n in (5, 6, 7, 8)]})
        pq.write_table(table, path, row_group_size=2)
        footer = read_footer(path)
        footer[6] = (8, b"x")
        stored(footer, 1, 1)[5] = (8, b"")
        write_footer(path, footer)
        leaves = [Leaf(("a",), "long"), Leaf(("s", "b"), "long")]
        read = FooterReader(leaves, True).read(pq.read_metadata(path))
        first, second = (group.columns for group in read.row_groups)
        assert [triple[:2] for triple in (*first, second[0])] == [(1, 2), (5, 6), (3, 4)]
        assert second[1] == UNKNOWN
        assert [triple[:2] for triple in read.columns] == [(1, 4), (None, None)]

    def test_footer_that_is_parsed_differently_is_unknown(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(_: Any) -> Any:
            raise ValueError("no footer")

        monkeypatch.setattr("tamis.indexing.executor.footers.stated_groups", fails)
        assert self.changed(tmp_path / "f.parquet", pa.array([1]), "long", {}) == UNKNOWN
