"""Names in the index directory, and indexes of the previous layout."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.expr.nodes import Column
from tamis.expr.types import LONG
from tamis.indexing import storage
from tamis.indexing.format.layout import POINTER, VISIBLE_POINTER
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

    def test_refresh_reuses_and_hides_the_visible_layout(
        self, index: LocalIndex, root: Path, lowers: Any
    ) -> None:
        index.build(**RECORDED)
        to_visible_layout(root)
        pq.write_table(pa.table({"a": pa.array([30])}), root / "3.parquet")
        index.read.clear()
        index.aggregated.clear()
        index.refresh()
        assert index.read == ["3.parquet"]
        assert index.aggregated == ["3.parquet"]
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
