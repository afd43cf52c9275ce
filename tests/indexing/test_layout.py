"""Names in the index directory, and indexes of the previous layout."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from tamis.evaluation.domain.exact_counts import UNKNOWN
from tamis.expr.nodes import Column
from tamis.expr.types import LONG
from tamis.indexing import storage
from tamis.indexing.format.layout import COUNTED_FORMAT, POINTER, VISIBLE_POINTER, seal, unseal
from tamis.indexing.read.index_statistics import IndexStatistics
from tamis.indexing.read.open_indexes import Indexes, OpenIndex, open_index
from tests.indexing.local import LocalIndex, spark_schema, to_visible_layout, uri_of

RECORDED: dict[str, Any] = {"columns": {"a": ["bounds", "bloom", "values"]}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "table"
    root.mkdir()
    for k in range(3):
        pq.write_table(pa.table({"a": pa.array([10 * k, 10 * k + 1])}), root / f"{k}.parquet")
    return root


@pytest.fixture
def index(root: Path, tmp_path: Path) -> LocalIndex:
    return LocalIndex(root, spark_schema(a="long"), tmp_path / "scratch")


@pytest.fixture
def lowers(index: LocalIndex, tmp_path: Path) -> Callable[[], list[int]]:
    def read_lowers() -> list[int]:
        lower = open_index(index.store(), str(tmp_path / "cache")).statistics.bounds(
            Column(("a",), LONG)
        )
        assert lower is not None
        assert lower.lower is not None
        return list(lower.lower.tolist())

    return read_lowers


def is_hidden(name: str) -> bool:
    """Apply Spark 4.1's `HadoopFSUtils.shouldFilterOutPathName`."""
    excluded = (name.startswith("_") and "=" not in name) or name.startswith(".")
    return excluded and not name.startswith(("_common_metadata", "_metadata"))


def contents(root: Path) -> list[Path]:
    return sorted((root / "_tamis").rglob("*"))


class TestNames:
    def test_every_name_is_hidden(self, index: LocalIndex, root: Path) -> None:
        index.build(**RECORDED)
        assert len(contents(root)) > 7
        assert [path.name for path in contents(root) if not is_hidden(path.name)] == []

    def test_names_of_an_interrupted_build_are_hidden(
        self, index: LocalIndex, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(*_: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(storage, "replace_file", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.build(**RECORDED)
        assert len(contents(root)) > 7
        assert [path.name for path in contents(root) if not is_hidden(path.name)] == []


class TestVisibleLayout:
    """Format 1, as tamis 0.1 wrote it."""

    def test_visible_layout_is_read(self, index: LocalIndex, root: Path, lowers: Any) -> None:
        index.build(**RECORDED)
        to_visible_layout(root)
        assert lowers() == [0, 10, 20]
        assert index.describe().to_dict()["files"] == 3
        assert len(index.describe().recorded) == 3

    def test_refresh_reads_every_file_and_hides_the_visible_layout(
        self, index: LocalIndex, root: Path, lowers: Any
    ) -> None:
        index.build(**RECORDED)
        to_visible_layout(root)
        pq.write_table(pa.table({"a": pa.array([30])}), root / "3.parquet")
        index.read.clear()
        index.aggregated.clear()
        index.refresh()
        assert len(index.read) == len(index.aggregated) == 4
        assert lowers() == [0, 10, 20, 30]
        assert [path.name for path in contents(root) if not is_hidden(path.name)] == []

    def test_visible_layout_is_dropped(self, index: LocalIndex, root: Path) -> None:
        index.build()
        to_visible_layout(root)
        index.drop()
        assert not (root / "_tamis").exists()

    def test_later_build_by_an_older_tamis_takes_precedence(
        self, index: LocalIndex, root: Path, tmp_path: Path
    ) -> None:
        index.build()
        first = tmp_path / "first"
        shutil.move(root / "_tamis", first)
        index.build(**RECORDED)
        to_visible_layout(root)
        shutil.copytree(first, root / "_tamis", dirs_exist_ok=True)
        assert {POINTER, VISIBLE_POINTER} <= {path.name for path in contents(root)}
        assert len(index.describe().recorded) == 3

    def test_earlier_build_by_an_older_tamis_is_superseded(
        self, index: LocalIndex, root: Path, tmp_path: Path
    ) -> None:
        index.build()
        to_visible_layout(root)
        first = tmp_path / "first"
        shutil.move(root / "_tamis", first)
        index.build(**RECORDED)
        shutil.copytree(first, root / "_tamis", dirs_exist_ok=True)
        assert len(index.describe().recorded) == 3

    def test_damaged_visible_pointer_is_ignored(
        self, index: LocalIndex, root: Path, lowers: Any
    ) -> None:
        index.build()
        (root / "_tamis" / VISIBLE_POINTER).write_text("{")
        assert lowers() == [0, 10, 20]

    def test_unfinished_build_of_an_older_tamis_is_preserved(
        self, index: LocalIndex, root: Path
    ) -> None:
        index.build()
        generation = to_visible_layout(root)
        drafted = generation.with_name(generation.name[:-1] + "x")
        shutil.copytree(generation, drafted)
        index.refresh()
        assert not generation.exists()
        assert drafted.exists()

    def test_planner_reloads_after_a_build_by_an_older_tamis(
        self, index: LocalIndex, root: Path, tmp_path: Path
    ) -> None:
        now = [0.0]
        indexes = Indexes(clock=lambda: now[0])

        def generation() -> str:
            now[0] += 2
            opened = indexes.find(uri_of(root), None, {}, str(tmp_path / "cache"), 0)
            assert isinstance(opened, OpenIndex)
            return opened.pointer.generation

        index.build()
        before = generation()
        assert before.startswith("_2")
        shutil.move(root / "_tamis", tmp_path / "first")
        index.build()
        to_visible_layout(root)
        shutil.copytree(tmp_path / "first", root / "_tamis", dirs_exist_ok=True)
        assert generation().startswith("2")


@pytest.mark.parametrize("name", ["../../victim", "..", ".", "", "_20240102T030405000006Z-../x"])
def test_only_names_of_segments_are_followed(
    index: LocalIndex, root: Path, tmp_path: Path, name: str
) -> None:
    """Users who can write to a table could otherwise remove directories of others."""
    victim = tmp_path / "victim"
    victim.mkdir()
    index.build()
    generation = to_visible_layout(root)
    visible = generation.with_name(VISIBLE_POINTER)
    visible.write_bytes(seal(replace(unseal(visible.read_bytes()), generation=name)))
    with pytest.raises(ValueError, match="is not the name of a segment"):
        unseal(visible.read_bytes())
    index.build()
    assert victim.exists()
    assert root.exists()
    assert len(list(root.glob("*.parquet"))) > 0
    pointer = root / "_tamis" / POINTER
    segment = replace(unseal(pointer.read_bytes()).segments[0], directory=name)
    pointer.write_bytes(seal(unseal(pointer.read_bytes()).with_segments([segment] * 2)))
    with pytest.raises(ValueError, match="is not the name of a segment"):
        unseal(pointer.read_bytes())


class TestOlderNullCounts:
    """Format 2: older versions believed writers that count NULLs wrongly."""

    @pytest.fixture
    def older(self, index: LocalIndex, root: Path) -> LocalIndex:
        index.build()
        pointer = root / "_tamis" / POINTER
        pointer.write_bytes(seal(replace(unseal(pointer.read_bytes()), format=COUNTED_FORMAT - 1)))
        return index

    @staticmethod
    def statistics(index: LocalIndex, cache: Path) -> IndexStatistics:
        return open_index(index.store(), str(cache)).statistics

    def test_null_counts_are_not_used_but_bounds_are(
        self, older: LocalIndex, tmp_path: Path, lowers: Any
    ) -> None:
        statistics = self.statistics(older, tmp_path / "cache")
        column = Column(("a",), LONG)
        assert lowers() == [0, 10, 20]
        assert statistics.bounds(column).can_be_null.tolist() == [True]
        assert statistics.certain(column).nulls.tolist() == [UNKNOWN]
        assert "null_count" not in statistics.cells(("a",), None)

    def test_refresh_reads_every_file_again(self, older: LocalIndex, tmp_path: Path) -> None:
        older.read.clear()
        older.refresh()
        assert len(older.read) == 3
        statistics = self.statistics(older, tmp_path / "cache")
        assert statistics.bounds(Column(("a",), LONG)).can_be_null.tolist() == [False]
        assert statistics.certain(Column(("a",), LONG)).nulls.tolist() == [0]
        older.read.clear()
        older.refresh()
        assert older.read == []
