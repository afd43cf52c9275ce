"""From a plan request to segments: which statistics apply to which file of the listing."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.statistics import Members, SelectedStatistics
from tamis.expr.nodes import Column, Compare, Comparison, Expr, IsNull, Literal
from tamis.expr.types import BOOLEAN, INTEGER, LONG, DataType
from tamis.files.table import ArrowStatistics
from tamis.indexing.format.layout import POINTER
from tamis.plan.scan_decision import decide
from tamis.recent import Recent
from tamis.tables import file_matches
from tamis.tables.parquet import ParquetTables
from tamis.tables.partitions import FileStatistics
from tamis.tables.scan_input import ScanInput
from tamis.wire.messages import OpenIndexesRequest, PlanRequest
from tamis.wire.scans import IndexOptions, PartitionColumn, Snapshot, Table
from tests.indexing.local import LocalIndex, spark_schema, uri_of, write_snapshot

SCHEMA = spark_schema(a="long", s="string")
A = Column(("a",), LONG)


def write(path: Path, *values: int | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = pa.array([None if v is None else str(v) for v in values], pa.string())
    pq.write_table(pa.table({"a": pa.array(values, pa.int64()), "s": texts}), path)


class Scene:
    """A table of four files in two partitions, with an index, read through one `ParquetTables`."""

    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.root = tmp_path / "t"
        for day, name, values in (
            (1, "a", (1, 2)),
            (1, "b", (3, None)),
            (2, "a", (5, 6, 7)),
            (2, "c d#%", (8,)),
        ):
            write(self.root / f"day={day}" / f"{name}.parquet", *values)
        self.index = LocalIndex(self.root, SCHEMA, tmp_path / "scratch")
        self.tables = ParquetTables()
        self.epoch = 0

    def request(
        self,
        root: Path | None = None,
        partitions: Mapping[str, tuple[str, pa.Array]] | None = None,
        case_sensitive: bool = False,
        roots: list[str] | None = None,
        order: list[Path] | None = None,
        **index: Any,
    ) -> PlanRequest:
        root = root or self.root
        if partitions is None and root == self.root:
            partitions = {"day": ("integer", pa.array([1, 2], pa.int32()))}
        partitions = partitions or {}
        directory = self.tmp_path / f"snapshots{self.epoch}"
        self.epoch += 1
        fingerprint, files = write_snapshot(
            root, directory, {name: values for name, (_, values) in partitions.items()}, order
        )
        return PlanRequest(
            version=1,
            id="1",
            snapshot=Snapshot(fingerprint, str(directory), files),
            table=Table(
                "t",
                roots or [uri_of(root)],
                [PartitionColumn(name, kind) for name, (kind, _) in partitions.items()],
                case_sensitive,
            ),
            index=IndexOptions(**{"epoch": self.epoch, **index}),
            cache_directory=str(self.tmp_path / "cache"),
        )

    def open(self, **options: Any) -> ScanInput:
        return self.tables.open_scan(self.request(**options))


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path)
    scene.index.build()
    return scene


def lowers(scan: ScanInput, column: Column = A) -> list[Any]:
    """Return the lower bound of every file in listing order. None if unknown."""
    result: list[Any] = [None] * sum(s.statistics.num_containers for s in scan.segments)
    for segment in scan.segments:
        size = segment.statistics.num_containers
        ordinals = np.arange(len(result))[segment.ordinals]
        bounds = segment.statistics.bounds(column)
        if bounds.lower is None:
            continue
        known_flags = bounds.lower_known if bounds.lower_known is not None else np.array([True])
        for i, ordinal in enumerate(ordinals):
            at = i if len(bounds.lower) == size else 0
            if known_flags[at if len(known_flags) == size else 0]:
                value = bounds.lower[at]
                result[ordinal] = value.as_py() if isinstance(value, pa.Scalar) else value.item()
    return result


def kept(scan: ScanInput, *conjuncts: Expr) -> list[bool]:
    files = sum(s.statistics.num_containers for s in scan.segments)
    return decide(list(conjuncts), scan.segments, files).kept.tolist()


def less(column: Column, value: Any) -> Compare:
    return Compare(Comparison.LESS, column, Literal(value, column.type))


class TestFreshness:
    def test_unchanged_listing_is_one_segment(self, scene: Scene) -> None:
        scan = scene.open()
        assert [s.ordinals for s in scan.segments] == [slice(0, 4)]
        assert lowers(scan) == [1, 3, 5, 8]
        assert scan.total_records == 8
        assert scan.records(np.array([True, False, False, True])) == 3
        assert scan.warnings == []

    def test_rewritten_file_is_kept(self, scene: Scene) -> None:
        write(scene.root / "day=1" / "b.parquet", 100, 200, 300, 400)
        scan = scene.open()
        assert lowers(scan) == [1, None, 5, 8]
        assert scan.total_records is None
        assert scan.records(np.array([True, False, True, True])) == 6
        assert scan.records(np.array([True, True, False, False])) is None

    def test_file_with_another_time_is_unknown(self, scene: Scene) -> None:
        import os

        os.utime(scene.root / "day=1" / "b.parquet", (1, 1))
        assert lowers(scene.open()) == [1, None, 5, 8]

    def test_added_files_are_unknown_and_removed_files_ignored(self, scene: Scene) -> None:
        (scene.root / "day=1" / "a.parquet").unlink()
        write(scene.root / "day=2" / "b.parquet", 7)
        assert lowers(scene.open()) == [3, 5, None, 8]

    def test_many_alternating_files_are_matched(self, tmp_path: Path) -> None:
        scene = Scene(tmp_path)
        for i in range(100):
            write(scene.root / "day=1" / f"f{i:03d}.parquet", i)
        scene.index.build()
        for i in range(0, 100, 2):
            write(scene.root / "day=1" / f"f{i:03d}.parquet", i, i, i)
        expected = [1, 3, *(i if i % 2 else None for i in range(100)), 5, 8]
        assert lowers(scene.open()) == expected

    def test_files_are_matched_in_another_order(self, scene: Scene) -> None:
        files = sorted(scene.root.rglob("*.parquet"), reverse=True)
        assert lowers(scene.open(order=files)) == [8, 5, 3, 1]

    def test_files_of_equal_size_and_time_are_matched_by_name(self, tmp_path: Path) -> None:
        import os

        scene = Scene(tmp_path)
        for i in range(30):
            path = scene.root / "day=1" / f"twin{i:02d}.parquet"
            write(path, i)
            os.utime(path, (10**9, 10**9))
        scene.index.build()
        (scene.root / "day=1" / "twin07.parquet").unlink()
        write(scene.root / "day=1" / "twin071.parquet", 99)
        os.utime(scene.root / "day=1" / "twin071.parquet", (10**9, 10**9))
        expected = [1, 3, *range(7), None, *range(8, 30), 5, 8]
        bounds = lowers(scene.open())
        assert bounds == expected

    def test_partition_values_are_used_without_an_index(self, tmp_path: Path) -> None:
        scan = Scene(tmp_path).open()
        assert lowers(scan) == [None] * 4
        assert lowers(scan, Column(("day",), DataType("integer"))) == [1, 1, 2, 2]
        assert scan.warnings == []
        assert scan.total_records is None
        assert scan.records(np.zeros(4, bool)) == 0

    @pytest.mark.parametrize("root", ["t", "t/day=2", "t/"])
    def test_index_that_was_opened_ahead_is_not_opened_again(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch, root: str
    ) -> None:
        from tamis.indexing.read import open_indexes

        opened: list[str] = []
        open_index = open_indexes.open_index

        def noted(store: Any, cache: Any) -> Any:
            opened.append(store.uri)
            return open_index(store, cache)

        monkeypatch.setattr(open_indexes, "open_index", noted)
        monkeypatch.setattr(open_indexes, "_RECHECK", 3600.0)
        request = scene.request(roots=[uri_of(scene.tmp_path) + "/" + root])
        ahead = OpenIndexesRequest(
            1, "o", request.table, request.index, request.storage, request.cache_directory
        )
        scene.tables.open_ahead(ahead)
        assert len(opened) == 1
        assert lowers(scene.tables.open_scan(request)) == [1, 3, 5, 8]
        assert len(opened) == 1

    @pytest.mark.parametrize("enabled", [True, False])
    def test_nothing_is_opened_ahead_without_an_index(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enabled: bool
    ) -> None:
        scene = Scene(tmp_path)
        looked: list[str] = []
        find = scene.tables._indexes.find
        monkeypatch.setattr(
            scene.tables._indexes, "find", lambda *given: (looked.append(given[0]), find(*given))[1]
        )
        request = scene.request(enabled=enabled)
        scene.tables.open_ahead(OpenIndexesRequest(1, "o", request.table, request.index))
        assert looked == ([uri_of(scene.root)] if enabled else [])

    def test_old_matches_are_evicted(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        sizes: list[int] = []

        def matched(listing: Any, indexes: Any) -> file_matches.Match:
            sizes.append(len(listing.files))
            return file_matches.matched(listing, indexes)

        monkeypatch.setattr("tamis.tables.parquet.matched", matched)
        scene.tables._matches = Recent(10, lambda entry: len(entry[1][0].files))
        requests = {4: scene.request()}
        for number in (5, 6):
            write(scene.root / "day=2" / f"z{number}.parquet", number)
            requests[number] = scene.request()
        for number in (4, 4, 5, 4, 6, 4, 5):
            scene.tables.open_scan(requests[number])
        assert sizes == [4, 5, 6, 5]

    def test_disabled_index_is_not_used(self, scene: Scene) -> None:
        assert lowers(scene.open(enabled=False)) == [None] * 4

    def test_missing_snapshot_is_an_error(self, scene: Scene) -> None:
        request = PlanRequest(version=1, id="1", snapshot=Snapshot("00", str(scene.tmp_path), 4))
        with pytest.raises(OSError, match="00"):
            scene.tables.open_scan(request)


class TestRoots:
    def test_partition_uses_the_index_of_its_table(self, scene: Scene) -> None:
        assert lowers(scene.open(root=scene.root / "day=2")) == [5, 8]

    def test_file_uses_the_index_of_its_directory(self, scene: Scene) -> None:
        file = scene.root / "day=2" / "a.parquet"
        scan = scene.open(root=scene.root / "day=2", roots=[uri_of(file)], order=[file])
        assert lowers(scan) == [5]

    def test_each_root_uses_its_index(self, scene: Scene) -> None:
        second_root = scene.tmp_path / "other"
        write(second_root / "x.parquet", 50)
        LocalIndex(second_root, SCHEMA, scene.tmp_path / "scratch").build()
        files = [*sorted(scene.root.rglob("*.parquet")), second_root / "x.parquet"]
        roots = [uri_of(scene.root), uri_of(second_root)]
        scan = scene.open(root=scene.tmp_path, roots=roots, order=files)
        assert sorted(x for x in lowers(scan) if x is not None) == [1, 3, 5, 8, 50]

    def test_index_at_another_location(self, tmp_path: Path) -> None:
        scene = Scene(tmp_path)
        scene.index.location = uri_of(tmp_path / "indexes")
        scene.index.build()
        assert lowers(scene.open()) == [None] * 4
        assert lowers(scene.open(location=scene.index.location)) == [1, 3, 5, 8]


class TestPartitions:
    @staticmethod
    def bounds(tmp_path: Path, kind: str, values: pa.Array, read_as: str | None = None) -> Bounds:
        scan = Scene(tmp_path).open(partitions={"P": (kind, values)})
        data_type = DataType.parse(read_as or kind)
        assert data_type is not None
        return scan.segments[0].statistics.bounds(Column(("p",), data_type))

    def test_every_row_has_the_partition_value(self, tmp_path: Path) -> None:
        scan = Scene(tmp_path).open(partitions={"P": ("integer", pa.array([1, 2], pa.int32()))})
        statistics = scan.segments[0].statistics
        for chosen in (statistics, SelectedStatistics(statistics, np.array([3, 0]))):
            assert chosen.certain(Column(("p",), INTEGER)).attained.all()
            assert not chosen.certain(Column(("b",), INTEGER)).attained.any()

    @pytest.mark.parametrize(
        ("kind", "values", "expected"),
        [
            ("integer", pa.array([1, 2], pa.int32()), [1, 1, 2, 2]),
            ("long", pa.array([1, 2], pa.int64()), [1, 1, 2, 2]),
            ("double", pa.array([1.5, 2]), [1.5, 1.5, 2, 2]),
            ("string", pa.array(["x", "y"]), [b"x", b"x", b"y", b"y"]),
            ("boolean", pa.array([True, False]), [1, 1, 0, 0]),
            ("date", pa.array([dt.date(1970, 1, 2), dt.date(1970, 1, 3)]), [1, 1, 2, 2]),
            ("timestamp", pa.array([5, 6], pa.timestamp("us", "UTC")), [5, 5, 6, 6]),
            ("timestamp_ntz", pa.array([5, 6], pa.timestamp("us")), [5, 5, 6, 6]),
            (
                "decimal(9,2)",
                pa.array([Decimal("1.20"), Decimal(2)], pa.decimal128(9, 2)),
                [120, 120, 200, 200],
            ),
        ],
    )
    def test_partition_has_one_value(
        self, tmp_path: Path, kind: str, values: pa.Array, expected: list[Any]
    ) -> None:
        bounds = self.bounds(tmp_path, kind, values)
        assert bounds.lower is not None
        assert bounds.upper is not None
        assert bounds.lower.tolist() == bounds.upper.tolist() == expected
        assert not bounds.can_be_null.any()
        assert not bounds.can_be_nan.any()

    def test_null_partition_is_null_in_every_row(self, tmp_path: Path) -> None:
        bounds = self.bounds(tmp_path, "integer", pa.array([None, 2], pa.int32()))
        assert bounds.can_be_null.tolist() == [True, True, False, False]
        assert bounds.can_be_value.tolist() == [False, False, True, True]

    def test_nan_partition_is_nan_in_every_row(self, tmp_path: Path) -> None:
        bounds = self.bounds(tmp_path, "double", pa.array([math.nan, 2.0]))
        assert bounds.can_be_nan.tolist() == [True, True, False, False]
        assert bounds.can_be_value.tolist() == [False, False, True, True]
        assert not bounds.can_be_null.any()

    @pytest.mark.parametrize(
        ("kind", "values", "read_as"),
        [
            ("integer", pa.array([1, 2], pa.int32()), "long"),
            ("integer", pa.array([1, 2], pa.int64()), "integer"),
            ("string", pa.array(["1", "2"]), "integer"),
            ("timestamp", pa.array([5, 6], pa.timestamp("us")), "timestamp"),
        ],
    )
    def test_partition_values_of_another_type_are_unknown(
        self, tmp_path: Path, kind: str, values: pa.Array, read_as: str
    ) -> None:
        assert self.bounds(tmp_path, kind, values, read_as).lower is None

    def test_partition_column_missing_in_the_listing_is_unknown(self, scene: Scene) -> None:
        request = scene.request()
        table = Table("t", request.table.roots, [PartitionColumn("gone", "integer")])
        import msgspec

        scan = scene.tables.open_scan(msgspec.structs.replace(request, table=table))
        column = Column(("gone",), DataType("integer"))
        assert scan.segments[0].statistics.bounds(column).lower is None

    def test_partition_column_of_an_unsupported_type_hides_the_index(self, scene: Scene) -> None:
        scan = scene.open(partitions={"a": ("interval day to second", pa.array([70, 80]))})
        assert lowers(scan) == [None] * 4

    def test_partition_values_take_precedence_over_the_index(self, scene: Scene) -> None:
        values = pa.array([70, 80])
        scan = scene.open(partitions={"a": ("long", values)})
        assert lowers(scan) == [70, 70, 80, 80]

    def test_expressions_over_a_column_that_a_partition_hides_are_unknown(
        self, scene: Scene
    ) -> None:
        """The index recorded them over the column of the files."""

        class Recorded(ArrowStatistics):
            def expression(self, key: str) -> Bounds:
                return Bounds.unknown(LONG)

            def members(self, subject: object) -> Members:
                return cast(Members, self)

        values = pa.array([70, 80])
        scene.index.build(columns={"a": "values"})
        for name, is_known in (("A", False), ("b", True)):
            (segment,) = scene.open(partitions={name: ("long", values)}).segments
            assert isinstance(segment.statistics, FileStatistics)
            recorded = replace(segment.statistics, columns=Recorded(pa.table({"num_records": [1]})))
            for each in (recorded, recorded.take(np.array([0])), recorded.slice(0, 1)):
                assert isinstance(each, FileStatistics)
                same = replace(each, columns=recorded.columns)
                assert (same.expression("key") is not None) == is_known
                assert (same.members("key") is not None) == is_known


class TestProblems:
    """An unusable index is a warning, never an error."""

    @pytest.mark.parametrize("content", ["", "{", '{"format": 99}'])
    def test_damaged_pointer_is_a_warning(self, scene: Scene, content: str) -> None:
        (scene.root / "_tamis" / POINTER).write_text(content)
        scan = scene.open()
        assert lowers(scan) == [None] * 4
        (warning,) = scan.warnings
        assert warning.code.startswith("index.")
        command = "build" if warning.code == "index.newer_format" else "refresh"
        assert f"python -m tamis index {command} {uri_of(scene.root)}" in warning.text

    @pytest.mark.parametrize(
        ("reading", "options"),
        [
            (None, ""),
            (
                {"format": "csv", "options": {"sep": ";"}, "schema": ""},
                " --format csv --schema DDL --option 'sep=;'",
            ),
        ],
    )
    def test_command_for_a_damaged_index_reads_the_files_as_the_query(
        self, scene: Scene, reading: dict[str, Any] | None, options: str
    ) -> None:
        (scene.root / "_tamis" / POINTER).write_text("")
        others = {"partitions": "", "confs": {}, "machine": {}}
        text = None if reading is None else json.dumps(reading | others)
        request = msgspec.structs.replace(scene.request(), reading=text)
        (warning,) = scene.tables.open_scan(request).warnings
        assert warning.text.endswith(f"index refresh {uri_of(scene.root)}{options}")

    def test_damaged_column_is_reported_when_it_is_read(self, scene: Scene) -> None:
        scan = scene.open()
        assert scan.warnings == []
        data = next((scene.root / "_tamis").rglob("_files.stats"))
        data.write_bytes(b"short")
        assert kept(scan, less(A, 4)) == [True] * 4
        (warning,) = scan.warnings
        assert warning.code == "index.damaged"
        assert warning.text.endswith(f"index refresh {uri_of(scene.root)}")

    def test_repaired_column_is_used_again(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from tamis.indexing.read import index_statistics

        scan = scene.open()
        data = next((scene.root / "_tamis").rglob("_files.stats"))
        content = data.read_bytes()
        data.write_bytes(b"short")
        assert lowers(scan) == [None] * 4
        data.write_bytes(content)
        assert lowers(scan) == [None] * 4
        monkeypatch.setattr(index_statistics, "_RETRY", 0.0)
        assert lowers(scan) == [1, 3, 5, 8]
        assert scan.warnings == []

    def test_other_case_sensitivity_is_a_warning(self, scene: Scene) -> None:
        scan = scene.open(case_sensitive=True)
        assert lowers(scan) == [None] * 4
        assert [w.code for w in scan.warnings] == ["index.case_sensitivity"]

    def test_unreachable_storage_is_a_warning(self, scene: Scene) -> None:
        scan = scene.open(roots=["dbfs:/mnt/t"])
        assert lowers(scan) == [None] * 4
        assert [w.code for w in scan.warnings] == ["index.storage_unreachable"]


class TestDecisions:
    """Decisions by plan.scan over the opened segments."""

    def test_bounds_prune(self, scene: Scene) -> None:
        assert kept(scene.open(), less(A, 4)) == [True, True, False, False]

    def test_partitions_and_bounds_prune_together(self, scene: Scene) -> None:
        day = Column(("day",), DataType("integer"))
        assert kept(scene.open(), less(A, 7), less(day, 2)) == [True, True, False, False]

    def test_null_counts_prune(self, scene: Scene) -> None:
        assert kept(scene.open(), IsNull(A)) == [False, True, False, False]

    def test_changed_files_are_kept(self, scene: Scene) -> None:
        write(scene.root / "day=2" / "a.parquet", 1, 1, 1, 1)
        assert kept(scene.open(), less(A, 2)) == [True, False, True, False]

    def test_column_of_another_type_is_not_pruned(self, scene: Scene) -> None:
        assert kept(scene.open(), less(Column(("a",), BOOLEAN), True)) == [True] * 4
