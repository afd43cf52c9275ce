"""The life of an index: build, refresh, describe, damage and drop."""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.errors import StatisticsIndexError
from tamis.expr.nodes import Column
from tamis.expr.types import DataType
from tamis.indexing.format import store as stores
from tamis.indexing.format.layout import FILES, POINTER, hidden, unseal
from tamis.indexing.problems import IndexMissing, IndexUnusable
from tamis.indexing.read.open_indexes import Indexes, OpenIndex, open_index
from tests.indexing.local import LocalIndex, spark_schema, uri_of

SCHEMA = spark_schema(a="long", s="string", d="decimal(9,2)")


def write(path: Path, a: list[int | None], **columns: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns.setdefault("s", pa.array([str(x) for x in a], pa.string()))
    pq.write_table(pa.table({"a": pa.array(a, pa.int64()), **columns}), path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "table ünï"
    write(root / "x=1#%" / "a b.parquet", [1, 2])
    write(root / "x=1#%" / "c.d.parquet", [3, None, 4])
    write(root / "x=2" / "é.parquet", [5])
    return root


@pytest.fixture
def index(root: Path, tmp_path: Path) -> LocalIndex:
    return LocalIndex(root, SCHEMA, tmp_path / "scratch")


@pytest.fixture
def opened(index: LocalIndex, tmp_path: Path) -> Callable[[], OpenIndex]:
    return lambda: open_index(index.store(), str(tmp_path / "cache"))


def bounds(index: OpenIndex, name: str, data_type: str = "long") -> Any:
    kind = DataType.parse(data_type)
    assert kind is not None
    return index.statistics.bounds(Column(tuple(name.split(".")), kind))


def lowers(index: OpenIndex, name: str = "a", data_type: str = "long") -> Any:
    of_column = bounds(index, name, data_type)
    return None if of_column.lower is None else of_column.lower.tolist()


class TestBuild:
    def test_rows_are_in_listing_order(self, index: LocalIndex, opened: Any) -> None:
        index.build()
        assert lowers(opened()) == [1, 3, 5]
        assert opened().num_records.tolist() == [2, 3, 1]

    def test_bounds_of_text_and_absent_columns(self, index: LocalIndex, opened: Any) -> None:
        index.build()
        assert lowers(opened(), "s", "string") == [b"1", b"3", b"5"]
        absent = bounds(opened(), "d", "decimal(9,2)")
        assert absent.can_be_value.tolist() == [False]

    def test_selected_columns_alone_have_bounds(self, index: LocalIndex, opened: Any) -> None:
        index.build(columns=["s"])
        assert lowers(opened()) is None
        assert lowers(opened(), "s", "string") is not None

    def test_unknown_column_is_an_error_with_a_suggestion(self, index: LocalIndex) -> None:
        with pytest.raises(StatisticsIndexError, match=r"no column sa .*: did you mean"):
            index.build(columns=["sa"])

    def test_empty_directory_has_an_empty_index(self, tmp_path: Path) -> None:
        (tmp_path / "t").mkdir()
        index = LocalIndex(tmp_path / "t", SCHEMA, tmp_path / "scratch")
        index.build()
        assert lowers(open_index(index.store(), str(tmp_path / "cache"))) is None

    def test_corrupt_files_are_counted_and_unknown(
        self, index: LocalIndex, root: Path, opened: Any
    ) -> None:
        (root / "x=2" / "é.parquet").write_bytes(b"PAR1 no footer here PAR1")
        (root / "x=2" / "z.parquet").write_bytes(b"")
        index.build()
        assert opened().num_records.tolist() == [2, 3, -1, -1]
        of_column = bounds(opened(), "a")
        assert of_column.lower_known.tolist() == [True, True, False, False]
        assert of_column.can_be_null.tolist() == [False, True, True, True]
        description = index.describe().to_dict()
        assert description["unreadable_files"] == 2
        assert any("z.parquet" in problem for problem in description["problems"])

    def test_file_changed_after_the_listing_is_unknown(
        self, index: LocalIndex, root: Path, opened: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        listing = index._list()
        write(root / "x=2" / "é.parquet", list(range(1000)))
        monkeypatch.setattr(index, "_list", lambda: listing)
        index.build()
        assert opened().num_records.tolist() == [2, 3, -1]

    def test_no_file_name_ends_in_parquet(self, index: LocalIndex, root: Path) -> None:
        index.build()
        written = [path.name for path in (root / "_tamis").rglob("*")]
        assert POINTER in written
        assert not any(name.endswith(".parquet") for name in written)

    def test_index_at_another_location(self, root: Path, tmp_path: Path) -> None:
        location = uri_of(tmp_path / "indexes")
        index = LocalIndex(root, SCHEMA, tmp_path / "scratch", location=location)
        index.build()
        assert not (root / "_tamis").exists()
        assert lowers(open_index(index.store(), str(tmp_path / "cache"))) == [1, 3, 5]

    def test_unwritable_directory_is_an_error_with_a_fix(self, tmp_path: Path, root: Path) -> None:
        (root / "_tamis").write_text("in the way")
        index = LocalIndex(root, SCHEMA, tmp_path / "scratch")
        with pytest.raises(StatisticsIndexError, match=r"spark\.tamis\.index\.location"):
            index.build()


class TestRefresh:
    def test_refresh_reads_only_changed_files(
        self, index: LocalIndex, root: Path, opened: Any
    ) -> None:
        index.build()
        index.read.clear()
        write(root / "x=1#%" / "b.parquet", [7, 8])  # added, in the middle of the listing
        write(root / "x=2" / "é.parquet", [50, 60])  # rewritten
        (root / "x=1#%" / "a b.parquet").unlink()  # removed
        index.refresh()
        assert index.read == ["b.parquet", "é.parquet"]
        assert lowers(opened()) == [7, 3, 50]

    def test_row_groups_follow_their_files(self, index: LocalIndex, root: Path) -> None:
        index.build()
        write(root / "x=1#%" / "0.parquet", [7, 8])
        index.refresh()
        pointer = index.store().pointer()
        names = ["file", "min.a", "num_records"]
        table = index.store().columns(pointer, "rowgroups.stats", names)
        assert table.to_pydict() == {
            "file": [0, 1, 2, 3],
            "min.a": [1, 3, 5, 7],
            "num_records": [2, 3, 1, 2],
        }

    def test_refresh_builds_a_missing_index_from_footers_with_a_warning(
        self, index: LocalIndex, opened: Any
    ) -> None:
        with pytest.warns(UserWarning, match=r"there is no index at .* builds one as build"):
            index.refresh()
        assert lowers(opened()) == [1, 3, 5]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            index.refresh()

    def test_refresh_rebuilds_a_damaged_index(
        self, index: LocalIndex, root: Path, opened: Any
    ) -> None:
        index.build()
        (root / "_tamis" / POINTER).write_text("{")
        index.refresh()
        assert lowers(opened()) == [1, 3, 5]

    def test_refresh_reads_all_files_for_a_new_column(self, index: LocalIndex, opened: Any) -> None:
        index.schema = spark_schema(a="long")
        index.build()
        index.schema = SCHEMA
        index.refresh()
        assert lowers(opened(), "s", "string") == [b"1", b"3", b"5"]

    def test_refresh_preserves_the_selected_columns(self, index: LocalIndex, root: Path) -> None:
        index.build(columns=["a"])
        index.read.clear()
        write(root / "new.parquet", [1])
        index.refresh()
        assert index.read == ["new.parquet"]
        assert [c["name"] for c in index.describe().to_dict()["columns"]] == ["a"]

    def test_refresh_retries_unreadable_files(self, index: LocalIndex, root: Path) -> None:
        broken = root / "x=2" / "broken.parquet"
        broken.write_bytes(b"nothing")
        index.build()
        index.read.clear()
        index.refresh()
        assert index.read == ["broken.parquet"]

    def test_refresh_rejects_an_index_of_a_newer_format(
        self, index: LocalIndex, root: Path
    ) -> None:
        index.build()
        pointer = root / "_tamis" / POINTER
        pointer.write_text(pointer.read_text().replace('"format": 3', '"format": 99'))
        with pytest.raises(StatisticsIndexError, match="written by a newer version of tamis"):
            index.refresh()


class TestDescribe:
    def test_description_counts_files_and_rows(self, index: LocalIndex) -> None:
        index.build()
        description = index.describe().to_dict()
        assert (description["files"], description["rows"], description["row_groups"]) == (3, 6, 3)
        assert description["columns"][0] == {
            "name": "a",
            "type": "long",
            "files_with_bounds": 3,
            "files_with_null_count": 3,
            "files_with_nan_count": 0,
        }
        assert description["staleness"] == {"fresh": 3, "changed": 0, "added": 0, "gone": 0}

    def test_description_counts_stale_files(self, index: LocalIndex, root: Path) -> None:
        index.build()
        write(root / "new.parquet", [1])
        write(root / "x=2" / "é.parquet", [50, 60])
        (root / "x=1#%" / "a b.parquet").unlink()
        description = index.describe()
        assert description.to_dict()["staleness"] == {
            "fresh": 1,
            "changed": 1,
            "added": 1,
            "gone": 1,
        }
        assert "index refresh" in str(description)

    def test_description_can_be_printed(self, index: LocalIndex) -> None:
        from rich.console import Console

        index.build()
        assert "3 files, 6 rows" in str(index.describe())
        console = Console(width=200, record=True, file=io.StringIO())
        console.print(index.describe())
        assert "decimal(9,2)" in console.export_text()

    def test_describe_without_an_index_is_an_error(self, index: LocalIndex) -> None:
        with pytest.raises(IndexMissing, match="python -m tamis index build"):
            index.describe()


class TestDrop:
    def test_drop_removes_the_directory(self, index: LocalIndex, root: Path) -> None:
        index.build()
        index.drop()
        assert not (root / "_tamis").exists()

    def test_drop_can_be_repeated(self, index: LocalIndex) -> None:
        index.drop()
        index.drop()


class TestConcurrency:
    def test_concurrent_builds_leave_a_valid_index(self, root: Path, tmp_path: Path) -> None:
        indexes = [LocalIndex(root, SCHEMA, tmp_path / f"scratch{i}") for i in range(2)]
        failures: list[BaseException] = []

        def build(index: LocalIndex) -> None:
            try:
                for _ in range(5):
                    index.build()
            except BaseException as problem:
                failures.append(problem)

        threads = [threading.Thread(target=build, args=(index,)) for index in indexes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert lowers(open_index(indexes[0].store(), str(tmp_path / "cache"))) == [1, 3, 5]

    def test_interrupted_build_preserves_the_old_index(
        self, index: LocalIndex, root: Path, opened: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        index.build()
        before = opened().pointer
        write(root / "new.parquet", [1])

        def interrupted(self: Any, pointer: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(stores.Store, "commit", interrupted)
            with pytest.raises(KeyboardInterrupt):
                index.build()
        assert opened().pointer == before
        assert len(list((root / "_tamis").glob("_2*"))) == 2

    def test_old_generations_are_removed(
        self, index: LocalIndex, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def generations() -> int:
            return len(list((root / "_tamis").glob("_2*")))

        for _ in range(3):
            index.build()
        assert generations() == 3  # young generations may still be being written
        monkeypatch.setattr(stores, "YOUNG", timedelta(0))
        index.build()
        assert generations() == 2  # planners may still read the previous one


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0x10
    path.write_bytes(content)


class TestDamage:
    """A damaged index is read as it was or causes a warning, but never an error."""

    @staticmethod
    def outcome(index: LocalIndex, cache: Path) -> Any:
        result = Indexes().find(uri_of(index.root), None, {}, str(cache), 0)
        if isinstance(result, IndexUnusable):
            return result
        values = lowers(result), lowers(result, "s", "string")
        return result.statistics.problem or values

    def test_flipped_byte_is_detected_or_has_no_effect(
        self, index: LocalIndex, root: Path, tmp_path: Path
    ) -> None:
        index.build()
        cache = tmp_path / "not writable" / "x"
        (tmp_path / "not writable").write_text("")
        good = self.outcome(index, cache)
        assert good == ([1, 3, 5], [b"1", b"3", b"5"])
        detected = set()
        for path in sorted(each for each in (root / "_tamis").rglob("*") if each.is_file()):
            for position in range(0, path.stat().st_size, 23):
                flip(path, position)
                result = self.outcome(index, cache)
                if isinstance(result, IndexUnusable):
                    detected.add(path.name)
                else:  # a byte of another column, or of the row groups, which are not read
                    assert result == good, (path.name, position)
                flip(path, position)
        assert detected == {"_checksums.json", "_files.stats", "_index.json", "_recorded.json"}

    @pytest.mark.parametrize("keep", [0, 100, -1])
    def test_truncated_file_is_damage(
        self, index: LocalIndex, root: Path, tmp_path: Path, keep: int
    ) -> None:
        index.build()
        path = next((root / "_tamis").rglob(hidden(FILES)))
        path.write_bytes(path.read_bytes()[:keep])
        result = self.outcome(index, tmp_path / "cache")
        assert isinstance(result, IndexUnusable)
        assert result.code == "index.damaged"
        assert "python -m tamis index refresh" in result.text

    def test_missing_generation_is_damage(
        self, index: LocalIndex, root: Path, tmp_path: Path
    ) -> None:
        index.build()
        next((root / "_tamis").rglob(hidden(FILES))).unlink()
        assert self.outcome(index, tmp_path / "cache").code == "index.damaged"

    def test_newer_format_is_reported(self, index: LocalIndex, root: Path, tmp_path: Path) -> None:
        index.build()
        pointer = root / "_tamis" / POINTER
        pointer.write_text(pointer.read_text().replace('"format": 3', '"format": 99'))
        assert self.outcome(index, tmp_path / "cache").code == "index.newer_format"

    def test_missing_index_is_reported(self, index: LocalIndex, tmp_path: Path) -> None:
        assert isinstance(self.outcome(index, tmp_path / "cache"), IndexMissing)

    def test_unknown_storage_is_reported(self) -> None:
        result = Indexes().find("dbfs:/mnt/t", None, {}, None, 0)
        assert isinstance(result, IndexUnusable)
        assert result.code == "index.storage_unreachable"

    def test_pointer_can_be_unsealed(self, index: LocalIndex, root: Path) -> None:
        index.build()
        pointer = unseal((root / "_tamis" / POINTER).read_bytes())
        assert pointer.root == uri_of(root)
        assert pointer.totals.files == 3


class TestIndexes:
    def test_new_generation_is_used_after_one_second(
        self, index: LocalIndex, root: Path, tmp_path: Path
    ) -> None:
        now = [100.0]
        indexes = Indexes(clock=lambda: now[0])

        def find(epoch: int = 0) -> Any:
            return indexes.find(uri_of(root), None, {}, str(tmp_path / "cache"), epoch)

        assert isinstance(find(), IndexMissing)
        index.build()
        assert isinstance(find(), IndexMissing)
        now[0] += 1.1
        first = find()
        assert isinstance(first, OpenIndex)
        now[0] += 1.1
        assert find() is first  # not opened again
        index.build()
        assert find() is first
        assert find(epoch=1) is not first

    def test_damaged_cache_is_rebuilt(self, index: LocalIndex, root: Path, tmp_path: Path) -> None:
        index.build()
        cache = tmp_path / "cache"
        assert lowers(open_index(index.store(), str(cache))) == [1, 3, 5]
        arrays = [path for path in cache.rglob("*") if path.is_file()]
        assert len(arrays) > 3
        for path in arrays:
            path.write_bytes(b"")
        assert lowers(open_index(index.store(), str(cache))) == [1, 3, 5]

    def test_world_writable_cache_is_not_used(self, index: LocalIndex, tmp_path: Path) -> None:
        index.build()
        cache = tmp_path / "cache"
        open_index(index.store(), str(cache))
        for folder in cache.rglob("*"):
            folder.chmod(0o777)
        before = sorted(cache.rglob("*"))
        assert lowers(open_index(index.store(), str(cache))) == [1, 3, 5]
        assert sorted(cache.rglob("*")) == before


class TestColumns:
    def test_types_are_widened_but_not_narrowed(self, tmp_path: Path) -> None:
        root = tmp_path / "t"
        root.mkdir()
        pq.write_table(
            pa.table({"i": pa.array([1], pa.int32()), "f": pa.array([1.5], pa.float32())}),
            root / "f.parquet",
        )
        index = LocalIndex(root, spark_schema(i="integer", f="float"), tmp_path / "scratch")
        index.build()
        opened = open_index(index.store(), str(tmp_path / "cache"))
        assert lowers(opened, "i", "long") == [1]
        assert lowers(opened, "f", "double") == [1.5]
        assert lowers(opened, "i", "short") is None
        assert lowers(opened, "i", "date") is None
        assert lowers(opened, "i", "string") is None

    def test_other_case_of_a_name_depends_on_case_sensitivity(
        self, index: LocalIndex, opened: Any
    ) -> None:
        index.build()
        assert lowers(opened(), "A") == [1, 3, 5]
        index.case_sensitive = True
        index.build()
        assert lowers(opened(), "A") is None

    def test_struct_fields_have_bounds(self, tmp_path: Path) -> None:
        root = tmp_path / "t"
        root.mkdir()
        pq.write_table(pa.table({"s": [{"x": 1, "y": "b"}, None]}), root / "f.parquet")
        schema = spark_schema(s={"x": "long", "y": "string"})
        index = LocalIndex(root, schema, tmp_path / "scratch")
        index.build()
        opened = open_index(index.store(), str(tmp_path / "cache"))
        assert lowers(opened, "s.x") == [1]
        assert bounds(opened, "s.x").can_be_null.tolist() == [True]
