"""Branches that are Iceberg tables: which files their manifests rule out."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFileContent
from pyiceberg.table import StaticTable, Table
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    IdentityTransform,
    TruncateTransform,
    YearTransform,
    parse_transform,
)
from pyiceberg.typedef import Record
from pyiceberg.types import LongType

from tamis.expr.nodes import And, Column, Compare, Comparison, Expr, IsNull, Literal, Not, Or
from tamis.expr.rewrites import TRUE
from tamis.expr.types import (
    BINARY,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tamis.remote.vgi.tables.lake_files import LakeFiles
from tamis.sources.errors import SourceError
from tamis.sources.fields import Field
from tamis.sources.iceberg_statistics import ManifestStatistics, _value
from tests.differential.generate import POOLS, Case, random_case, random_predicate
from tests.differential.rows import row_value
from tests.publish.lakes import without_catalog
from tests.publish.test_iceberg import commit_file
from tests.remote.vgi_filters import table_of

N = Column(("n",), LONG)


def compared(op: str, value: Any, name: str = "n", data_type: DataType = LONG) -> Expr:
    return Compare(Comparison(op), Column((name,), data_type), Literal(value, data_type))


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    made = load_catalog("x", type="sql", uri="sqlite://", warehouse=f"file://{tmp_path}/lake")
    made.create_namespace("db")
    return made


def created(
    catalog: Catalog, schema: pa.Schema, *partitions: tuple[str, Any], name: str = "t"
) -> Table:
    table = catalog.create_table(f"db.{name}", schema, properties={"format-version": "2"})
    with table.update_spec() as update:
        for column, transform in partitions:
            update.add_field(column, transform, f"{column}_part")
    return table


def append(table: Table, **columns: Any) -> None:
    schema = table.schema().as_arrow()
    table.append(pa.table(columns, pa.schema([schema.field(name) for name in columns])))


def files_of(path: object) -> LakeFiles:
    return LakeFiles("branch 1", str(path), "iceberg", "server")


def rows_of(path: object, where: Expr, *names: str) -> list[Any]:
    return [
        row if len(names) > 1 else row[names[0]]
        for task in files_of(path).tasks(names, where)
        for batch in task.batches()
        for row in batch.to_pylist()
    ]


def broken(root: Path) -> None:
    """Destroy the data files, so that reading one of them fails."""
    for each in root.rglob("*.parquet"):
        each.write_bytes(b"?" * each.stat().st_size)


def opened(root: object, where: Expr, name: str = "n") -> bool:
    """Return whether a query opens one of the broken files."""
    try:
        rows = rows_of(root, where, name)
    except SourceError as error:
        if "cannot be read" in str(error):
            return True
        raise
    assert rows == []
    return False


def test_files_that_manifests_rule_out_are_not_opened(catalog: Catalog) -> None:
    schema = pa.schema(
        {"n": pa.int64(), "s": pa.string(), "d": pa.date32(), "t": pa.timestamp("us"),
         "z": pa.timestamp("us", "UTC"), "m": pa.decimal128(9, 2), "x": pa.float64(),
         "b": pa.binary(), "p": pa.struct({"q": pa.int64()})}
    )  # fmt: skip
    table = created(catalog, schema)
    moments = [datetime(2024, 1, day) for day in (1, 2)]
    append(
        table, n=[1, 9], s=["b", "d"], d=[date(2024, 1, 1), date(2024, 1, 2)], t=moments,
        z=moments, m=[Decimal("-1.50"), Decimal("2.25")], x=[1.5, 2.5], b=[b"b", None],
        p=[{"q": 1}, None],
    )  # fmt: skip
    root = without_catalog(table)
    broken(root)
    day, moment = 19_724, 1_704_153_600_000_000  # January 2
    none: list[Expr] = [
        compared(">", 9),
        compared("=", 0),
        IsNull(N),
        And((compared(">=", 1), compared("<", "b", "s", STRING))),
        Or((compared("<", 1), compared(">", day, "d", DATE))),
        # the bound may have been cut to milliseconds
        compared(">", moment + 999, "t", TIMESTAMP_NTZ),
        compared(">", moment + 999, "z", TIMESTAMP),
        compared("<", Decimal("-1.5"), "m", decimal(9, 2)),
        compared("<", 1.5, "x", DOUBLE),
        compared("<", b"b", "b", BINARY),
    ]
    for where in none:
        assert not opened(root, where), where
    some: list[Expr] = [
        compared(">", 8),
        compared(">", moment, "t", TIMESTAMP_NTZ),
        Not(IsNull(N)),
        IsNull(Column(("b",), BINARY)),
        compared(">=", "d", "s", STRING),
        compared(">=", day, "d", DATE),
        compared("<=", Decimal("-1.5"), "m", decimal(9, 2)),
        compared("=", 5, "N"),  # not known
        Compare(Comparison.EQUAL, Column(("p", "q"), LONG), Literal(5, LONG)),  # in the footer only
    ]
    for where in some:
        assert opened(root, where), where


def with_file(table: Any, folder: Path, rows: pa.Table, partition: Any) -> Any:
    """Return the table with one file more, which has a partition value and no bounds."""
    path = folder / f"{len(list(folder.glob('*.parquet')))}.parquet"
    pq.write_table(rows.cast(schema_to_pyarrow(table.schema())), path)
    metadata = commit_file(
        table, folder, file_path=str(path), record_count=rows.num_rows,
        file_size_in_bytes=path.stat().st_size, partition=Record(partition),
    )  # fmt: skip
    return StaticTable.from_metadata(str(metadata))


# transform, type on the storage, value, type in Spark, value that has no row, value that may
PARTITIONS: list[tuple[Any, Any, Any, DataType, Any, Any]] = [
    (IdentityTransform(), pa.string(), "a", STRING, "c", "a"),
    (IdentityTransform(), pa.string(), None, STRING, "c", None),
    (IdentityTransform(), pa.date32(), -1, DATE, 0, -1),
    (IdentityTransform(), pa.timestamp("us"), 0, TIMESTAMP_NTZ, 1, 0),
    (IdentityTransform(), pa.decimal128(9, 2), Decimal("1.50"), decimal(9, 2), Decimal(2), Decimal("1.5")),
    (BucketTransform(16), pa.int64(), 5, LONG, 6, 5),
    (BucketTransform(16), pa.string(), "é", STRING, "f", "é"),
    (TruncateTransform(10), pa.int32(), -5, INTEGER, 0, -10),
    (TruncateTransform(2), pa.string(), "abc", STRING, "b", "abd"),
    (YearTransform(), pa.date32(), 10, DATE, 400, 11),
    (DayTransform(), pa.timestamp("us", "UTC"), 1_704_067_200_000_000, TIMESTAMP, 1_704_153_600_000_000, 1_704_067_300_000_000),
]  # fmt: skip


@pytest.mark.parametrize(
    ("transform", "arrow", "value", "data_type", "absent", "present"),
    PARTITIONS,
    ids=[f"{each[0]}-{each[1]}" for each in PARTITIONS],
)
def test_partition_values_rule_out_files(
    catalog: Catalog, tmp_path: Path, transform: Any, arrow: Any, value: Any,
    data_type: DataType, absent: Any, present: Any,
) -> None:  # fmt: skip
    table = created(catalog, pa.schema({"n": pa.int64(), "c": arrow}), ("c", transform))
    kind = table.schema().find_type("c")
    partition = transform.transform(kind)(value)
    rows = pa.table({"n": [1], "c": pa.array([value], _internal(arrow)).cast(arrow)})
    made = with_file(table, tmp_path, rows, partition)
    assert rows_of(made.metadata_location, TRUE, "n") == [1]
    broken(tmp_path)
    column = Column(("c",), data_type)
    known = IsNull(column) if value is None else compared("=", present, "c", data_type)
    assert not opened(made.metadata_location, compared("=", absent, "c", data_type))
    assert opened(made.metadata_location, known)


def _internal(arrow: Any) -> Any:
    """Return the type in which Iceberg and literals have values: days and microseconds."""
    if pa.types.is_date(arrow):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(arrow) else arrow


def test_metrics_follow_the_ids_of_columns(catalog: Catalog) -> None:
    table = created(catalog, pa.schema({"a": pa.int32(), "b": pa.int64()}))
    append(table, a=[1, 2], b=[100, 200])
    with table.update_schema() as update:
        update.rename_column("a", "n")
        update.update_column("a", LongType())
        update.delete_column("b")
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.add_column("b", LongType())  # another column
        update.add_column("a", LongType())
    append(table, n=[2**40], b=[7], a=[1])
    with table.update_spec() as update:
        update.add_field("b", IdentityTransform(), "b_part")
    append(table, n=[50], b=[8], a=[2])
    root = without_catalog(table)

    def numbers(where: Expr) -> list[int]:
        return sorted(rows_of(root, where, "n"))

    assert numbers(compared("=", 2)) == [1, 2]  # the bounds of the first file have 4 bytes
    assert numbers(compared(">", 2**39)) == [2**40]
    assert numbers(IsNull(Column(("b",), LONG))) == [1, 2]
    assert numbers(compared("=", 100, "b")) == []
    assert numbers(compared("=", 7, "b")) == [2**40]
    assert numbers(compared("=", 8, "b")) == [50]
    assert numbers(compared("=", 1, "a")) == [2**40]


def test_deleted_rows_stay_deleted(catalog: Catalog, tmp_path: Path) -> None:
    table = created(catalog, pa.schema({"n": pa.int64()}))
    append(table, n=list(range(10)))
    append(table, n=[20, 21])
    paths = {each.file.record_count: each.file.file_path for each in table.scan().plan_files()}
    deletes = tmp_path / "deletes.parquet"
    pq.write_table(pa.table({"file_path": [paths[10]] * 2, "pos": [0, 9]}), deletes)
    content = DataFileContent.POSITION_DELETES
    metadata = commit_file(table, tmp_path, content=content, file_path=str(deletes))
    assert rows_of(metadata, compared("<", 3), "n") == list(range(1, 9))
    assert rows_of(metadata, compared(">", 9), "n") == [20, 21]
    assert rows_of(metadata, compared(">", 30), "n") == []


def test_equality_deletes_are_refused_with_any_filter(catalog: Catalog, tmp_path: Path) -> None:
    table = created(catalog, pa.schema({"n": pa.int64()}))
    append(table, n=[1])
    content = DataFileContent.EQUALITY_DELETES
    metadata = commit_file(table, tmp_path, content=content, equality_ids=[1], file_path="x")
    with pytest.raises(SourceError, match="has equality deletes"):
        files_of(metadata)


def test_snapshots_have_their_own_files(catalog: Catalog) -> None:
    table = created(catalog, pa.schema({"n": pa.int64()}))
    append(table, n=[1])
    first = table.metadata_location
    table.overwrite(pa.table({"n": [100]}))
    assert rows_of(first, compared("<", 5), "n") == [1]
    assert rows_of(table.metadata_location, compared("<", 5), "n") == []


# --- unknown statistics -----------------------------------------------------------------------

BOUNDS: list[tuple[Any, bytes | None, Any]] = [
    (pa.int32(), struct.pack("<i", -5), -5),
    (pa.int32(), struct.pack("<q", 5), None),
    (pa.int64(), struct.pack("<i", -5), -5),
    (pa.int64(), b"", None),
    (pa.float64(), struct.pack("<f", 1.5), 1.5),
    (pa.float64(), struct.pack("<d", float("nan")), None),
    (pa.bool_(), b"\1", True),
    (pa.date32(), struct.pack("<i", 3), 3),
    (pa.timestamp("us"), struct.pack("<i", 3), None),  # a date that became a timestamp
    (pa.timestamp("us"), struct.pack("<q", 3), 3),
    (pa.timestamp("ns"), struct.pack("<q", 3), None),
    (pa.string(), "é".encode(), "é"),
    (pa.string(), "é".encode()[:1], None),
    (pa.binary(), b"\xff", b"\xff"),
    (pa.decimal128(5, 2), b"\xff\x38", Decimal("-2.00")),
    (pa.decimal128(5, 2), b"\x01\x86\xa0", None),  # 100000 has six digits
    (pa.decimal128(5, 2), b"", None),
    (pa.uuid(), b"x" * 16, None),
    (pa.int64(), None, None),
]


@pytest.mark.parametrize(("arrow", "data", "value"), BOUNDS)
def test_bound_of_a_type(arrow: Any, data: bytes | None, value: Any) -> None:
    assert _value(data, arrow) == value


def statistics_of(
    types: Sequence[str] = ("long",),
    partition: Any = None,
    transform: str = "identity",
    arrow: Any = None,
    **more: Any,
) -> ManifestStatistics:
    """Return the statistics of one file, whose column n has the id 1."""
    low, high = struct.pack("<q", 10), struct.pack("<q", 20)
    file: dict[str, Any] = {
        "spec_id": 0, "record_count": 5, "partition": [partition], "value_counts": {1: 5},
        "null_value_counts": {1: 0}, "nan_value_counts": None, "lower_bounds": {1: low},
        "upper_bounds": {1: high},
    }  # fmt: skip
    own = SimpleNamespace(source_id=1, transform=parse_transform(transform))
    fields = [] if partition is None else [own]
    metadata = SimpleNamespace(
        specs=lambda: {0: SimpleNamespace(fields=fields)},
        schemas=[
            SimpleNamespace(fields=[SimpleNamespace(field_id=1, field_type=each)]) for each in types
        ],
    )
    return ManifestStatistics(
        metadata, [SimpleNamespace(**{**file, **more})], [Field("n", arrow or pa.int64(), "n", 1)]
    )


OVER, NULL = compared(">", 20), IsNull(N)
BARE: dict[str, Any] = {"lower_bounds": None, "upper_bounds": None, "null_value_counts": None}


@pytest.mark.parametrize(
    ("where", "is_out", "more"),
    [
        (OVER, True, {}),
        (NULL, True, {}),
        (OVER, False, BARE),
        (NULL, False, BARE),
        (OVER, True, {"lower_bounds": {}}),
        (OVER, False, {"lower_bounds": {1: struct.pack("<q", 30)}}),  # inverted
        (NULL, False, {"value_counts": {1: 4}}),
        (NULL, False, {"null_value_counts": {1: -1}}),
        (OVER, True, {**BARE, "null_value_counts": {1: 5}}),
        (OVER, True, {**BARE, "partition": 7}),
        (OVER, True, {**BARE, "partition": 7, "types": ("int", "long")}),
        (OVER, False, {**BARE, "partition": 7, "types": ("date", "timestamp")}),
        (OVER, False, {**BARE, "partition": 7, "transform": "bucket[4]"}),
        (OVER, False, {**BARE, "partition": 7, "transform": "void"}),
        (OVER, False, {**BARE, "partition": "seven"}),
        (OVER, True, {**BARE, "record_count": 0}),
    ],
)
def test_file_is_ruled_out_only_by_what_is_known(
    where: Expr, is_out: bool, more: dict[str, Any]
) -> None:
    assert statistics_of(**more).ruled_out(where).tolist() == [is_out]


NOW = 1_700_000_000_080_000  # microseconds


def between(lower: int, upper: int) -> dict[str, Any]:
    bounds = [{1: struct.pack("<q", each)} for each in (lower, upper)]
    return {"arrow": pa.timestamp("us"), "lower_bounds": bounds[0], "upper_bounds": bounds[1]}


@pytest.mark.parametrize(
    ("value", "is_out", "bounds"),
    [
        (NOW + 1, True, between(0 + NOW - 9, NOW - 8)),
        (NOW + 758, False, between(NOW - 9, NOW)),  # cut to milliseconds
        (NOW + 1000, True, between(NOW - 9, NOW)),
        (NOW + 758, True, between(NOW - 9, NOW + 1)),
        (NOW, False, between(NOW // 1000 - 9, NOW // 1000)),  # in milliseconds
        (NOW, False, between(-9, NOW // 1000)),
    ],
)
def test_bounds_of_timestamps_in_milliseconds_rule_nothing_out(
    value: int, is_out: bool, bounds: dict[str, Any]
) -> None:
    where = compared("=", value, data_type=TIMESTAMP_NTZ)
    assert statistics_of(**bounds).ruled_out(where).tolist() == [is_out]


@pytest.mark.parametrize(("nulls", "is_out"), [(0, False), (4, False), (5, False)])
def test_numbers_of_nulls_of_texts_are_lower_limits(nulls: int, is_out: bool) -> None:
    bounds = {kind: {1: b"m"} for kind in ("lower_bounds", "upper_bounds")}
    known = statistics_of(arrow=pa.string(), null_value_counts={1: nulls}, **bounds)
    where = IsNull(Column(("n",), STRING))
    assert known.ruled_out(where).tolist() == [is_out]


def test_buckets_of_a_column_that_is_compared_as_a_decimal_prove_nothing() -> None:
    wide = decimal(20, 0)
    wanted = [compared("=", Decimal(n), data_type=wide) for n in range(40)]
    known = statistics_of(**BARE, partition=1, transform="bucket[4]")
    assert [known.ruled_out(each).tolist() for each in wanted] == [[False]] * 40
    as_long = [known.ruled_out(compared("=", n)).tolist() for n in range(40)]
    assert [True] in as_long


def test_partition_field_has_a_name_of_its_own() -> None:
    known = statistics_of(**BARE, partition=7)
    where = And((compared("=", 7), IsNull(Column(("partition", "field_0"), LONG))))
    assert known.ruled_out(where).tolist() == [False]


# --- random tables ----------------------------------------------------------------------------

_TYPES = {
    "boolean", "integer", "long", "float", "double", "string", "binary", "date", "timestamp",
    "timestamp_ntz",
}  # fmt: skip


#: Values below are within the years for which pyiceberg computes the transforms.
_WITHIN_YEARS = {"date": 700_000, "timestamp": 6 * 10**16, "timestamp_ntz": 6 * 10**16}


def _written(
    catalog: Catalog, folder: Path, case: Case, whole: pa.Table, source: Column | None,
    random: Random,
) -> Any:  # fmt: skip
    """Return a table with the rows of a case: with bounds, or with partition values, or both."""
    folder.mkdir()
    transforms: list[Any] = [IdentityTransform()]
    if source is not None and source.type.name != "boolean":
        transforms.append(BucketTransform(4))
    if source is not None and source.type.name in ("integer", "long", "string"):
        transforms.append(TruncateTransform(3))
    if source is not None and source.type.name in ("date", "timestamp", "timestamp_ntz"):
        values = [row[source.path] for container in case.containers for row in container]
        if all(value is None or abs(value) < _WITHIN_YEARS[source.type.name] for value in values):
            transforms += [YearTransform(), DayTransform()]
    transform = random.choice(transforms)
    partitions = [] if source is None else [(source.path[0], transform)]
    table: Any = created(catalog, whole.schema, *partitions, name=f"t{folder.name}")
    is_library = source is None or (
        transform == IdentityTransform() and source.type.name not in _WITHIN_YEARS
    )
    start = 0
    for container in case.containers:
        rows = whole.slice(start, len(container))
        start += len(container)
        if not container:
            continue
        if is_library:
            table.append(rows)
            continue
        assert source is not None
        apply = transform.transform(table.schema().find_type(source.path[0]))
        places: dict[Any, list[int]] = {}
        for place, row in enumerate(container):
            value = row[source.path]
            if isinstance(value, Decimal):  # pyiceberg hashes the digits that a decimal has
                value = pa.scalar(value, POOLS[source.type][1]).as_py()
            places.setdefault(apply(value), []).append(place)
        for partition, chosen in places.items():
            table = with_file(table, folder, rows.take(chosen), partition)
    return table


def test_random_files_that_are_ruled_out_have_no_rows(catalog: Catalog, tmp_path: Path) -> None:
    random, count, written, ruled = Random(11), 0, 0, 0
    while count < 30:
        case = random_case(random, containers=4)
        if not all(each.type.name in _TYPES or each.type.is_decimal for each in case.columns):
            continue
        count += 1
        rows = [row for container in case.containers for row in container]
        whole = table_of(case.columns, rows)
        top = [each for each in case.columns if len(each.path) == 1 and not each.type.is_floating]
        chosen = random.choice([*top, None])
        try:
            table = _written(catalog, tmp_path / str(count), case, whole, chosen, random)
        except (OverflowError, struct.error):
            continue  # pyiceberg cannot write moments outside of the years 1 to 9999
        written += 1
        listing = files_of(table.metadata_location)._listing
        assert listing.ruled_out is not None
        stored = [
            pq.read_table(listing.storage.path_of(each), columns=["row"]).column(0).to_pylist()
            for each in listing.files
        ]
        for _ in range(30):
            predicate = random_predicate(random, case.columns)
            for out, numbers in zip(listing.ruled_out(predicate), stored, strict=True):
                ruled += bool(out)
                assert not out or not any(
                    row_value(predicate, rows[number]) is True for number in numbers
                ), predicate
    assert written > 15
    assert ruled > 300
