"""Recorded row statistics on disk: written, mapped, refreshed and damaged."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.evaluation import verdicts
from tamis.expr.nodes import Call, Column, Compare, Comparison, In, Literal, Not
from tamis.expr.types import LONG, STRING
from tamis.indexing.format import row_statistics
from tamis.indexing.format import store as stores
from tamis.indexing.format.blooms import BloomMembers
from tamis.indexing.format.layout import hidden
from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.open_indexes import Indexes, OpenIndex, open_index
from tests.indexing.local import LocalIndex, spark_schema, uri_of

SCHEMA = spark_schema(a="long", s="string")
A, S = Column(("a",), LONG), Column(("s",), STRING)
TWICE = Call("Twice", (A,), (), LONG, "key of twice(a)")
NONE, SOME, ALL = range(3)
REQUEST: dict[str, Any] = {
    "columns": {"a": ["bloom", "values"], "s": ["bounds", "values"]},
    "expressions": ["twice(a)"],
}


def write(path: Path, a: list[int | None], s: list[str | None] | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {"a": pa.array(a, pa.int64()), "s": pa.array(s or ["x"] * len(a), pa.string())}
    pq.write_table(pa.table(columns), path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "t"
    write(root / "0.parquet", [1, 9], ["a", "z"])
    write(root / "1.parquet", [2, 8, None], ["b", "y" * 300, None])
    write(root / "2.parquet", [3, 3])
    write(root / "3.parquet", [None])
    return root


@pytest.fixture
def index(root: Path, tmp_path: Path) -> LocalIndex:
    return LocalIndex(root, SCHEMA, tmp_path / "scratch")


def verdicts_of(opened: OpenIndex) -> list[list[int]]:
    """Return the verdicts of predicates that need row statistics, and of one that does not."""
    predicates = [
        Compare(Comparison.EQUAL, A, Literal(8, LONG)),
        In(A, (1, 9, 3)),
        Not(In(A, (2, 8))),
        Compare(Comparison.EQUAL, TWICE, Literal(6, LONG)),
        In(TWICE, (2, 18)),
        Compare(Comparison.GREATER, TWICE, Literal(17, LONG)),
        Compare(Comparison.EQUAL, S, Literal("m", STRING)),
        Compare(Comparison.GREATER, S, Literal("y" * 300, STRING)),
    ]
    return [verdicts(each, opened.statistics).tolist() for each in predicates]


WHOLE = [
    [NONE, SOME, NONE, NONE],
    [ALL, NONE, ALL, NONE],
    [ALL, NONE, ALL, NONE],
    [NONE, NONE, ALL, NONE],
    [ALL, NONE, NONE, NONE],
    [SOME, NONE, NONE, NONE],
    [NONE, NONE, NONE, NONE],
    [SOME, NONE, NONE, NONE],
]


def opened(index: LocalIndex, cache: Path) -> OpenIndex:
    return open_index(index.store(), str(cache))


def test_every_kind_gives_its_verdicts(index: LocalIndex, tmp_path: Path) -> None:
    index.build(**REQUEST)
    for _ in range(2):  # first written to the cache, then mapped
        assert verdicts_of(opened(index, tmp_path / "cache")) == WHOLE
    (tmp_path / "file").write_text("")
    assert verdicts_of(opened(index, tmp_path / "file" / "no cache")) == WHOLE


def test_bloom_filters_are_memory_mapped(index: LocalIndex, tmp_path: Path) -> None:
    index.build(columns={"a": "bloom"})
    members = opened(index, tmp_path / "cache").statistics.members(A)
    assert isinstance(members, BloomMembers)
    base: Any = members.words
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, mmap.mmap)


def test_slices_and_selections_give_the_same_verdicts(index: LocalIndex, tmp_path: Path) -> None:
    index.build(**REQUEST)
    statistics = opened(index, tmp_path / "cache").statistics
    predicate = In(A, (1, 9, 3))
    whole = verdicts(predicate, statistics)
    assert verdicts(predicate, statistics.slice(1, 4)).tolist() == whole[1:4].tolist()
    order = np.array([2, 0, 0, 3])
    assert verdicts(predicate, statistics.take(order)).tolist() == whole[order].tolist()
    some = statistics.slice(1, 4).take(np.array([1, 0]))
    assert verdicts(predicate, some).tolist() == whole[[2, 1]].tolist()


def test_refresh_reads_rows_of_changed_files_only(
    index: LocalIndex, root: Path, tmp_path: Path
) -> None:
    index.build(**REQUEST)
    index.aggregated.clear()
    write(root / "1.parquet", [5, 5, 5])
    write(root / "15.parquet", [8])
    (root / "0.parquet").unlink()
    index.refresh()
    assert index.aggregated == ["1.parquet", "15.parquet"]
    refreshed = opened(index, tmp_path / "cache")
    eight = Compare(Comparison.EQUAL, A, Literal(8, LONG))
    assert verdicts(eight, refreshed.statistics).tolist() == [NONE, ALL, NONE, NONE]
    twice = Compare(Comparison.EQUAL, TWICE, Literal(10, LONG))
    assert verdicts(twice, refreshed.statistics).tolist() == [ALL, NONE, NONE, NONE]
    again = [e["of"] for e in index.describe().to_dict()["recorded"]]
    assert again == ["a", "a", "s", "s", "twice(a)", "twice(a)"]
    index.aggregated.clear()
    index.refresh()
    assert index.aggregated == []


def test_refresh_after_a_schema_change_warns(index: LocalIndex, tmp_path: Path) -> None:
    index.build(**REQUEST)
    index.schema = spark_schema(a="long", t="string")  # without s
    with pytest.warns(UserWarning, match="no longer records s .columns: the table has no column s"):
        index.refresh()
    assert [e["of"] for e in index.describe().to_dict()["recorded"]][:3] == ["a", "a", "twice(a)"]
    index.build()
    assert index.describe().to_dict()["recorded"] == []


def test_unreadable_file_is_unknown(index: LocalIndex, root: Path, tmp_path: Path) -> None:
    (root / "2.parquet").write_bytes(b"PAR1 nothing PAR1")
    index.build(**REQUEST)
    all_verdicts = verdicts_of(opened(index, tmp_path / "cache"))
    assert [each[2] for each in all_verdicts] == [SOME] * len(all_verdicts)
    assert [each[:2] for each in all_verdicts] == [each[:2] for each in WHOLE]


class TestDamage:
    """A damaged recording is left out. The statistics of the footers remain in use."""

    @staticmethod
    def outcome(index: LocalIndex, cache: Path) -> tuple[Any, IndexUnusable | None]:
        answers = Indexes().find(uri_of(index.root), None, {}, str(cache), 0)
        if isinstance(answers, IndexUnusable):
            return None, answers
        return verdicts_of(answers), answers.statistics.problem

    def test_flipped_byte_is_detected_or_has_no_effect(
        self, index: LocalIndex, root: Path, tmp_path: Path
    ) -> None:
        index.build(**REQUEST)
        (tmp_path / "file").write_text("")
        cache = tmp_path / "file" / "no cache"
        recorded_files = [
            path
            for path in sorted((root / "_tamis").rglob("*"))
            if path.name.startswith(("_recorded.", "_0.", "_1.", "_3.", "_5."))
        ]
        assert {path.name for path in recorded_files} >= {
            "_recorded.json",
            "_recorded.stats",
            "_0.bits",
        }
        detected = set()
        for path in recorded_files:
            size = path.stat().st_size
            for position in range(0, size, max(1, size // 20)):
                content = bytearray(path.read_bytes())
                content[position] ^= 0x10
                path.write_bytes(content)
                answers, problem = self.outcome(index, cache)
                if problem is None:  # a byte of another column
                    assert answers == WHOLE, (path.name, position)
                else:
                    detected.add(path.name)
                self.assert_not_stronger(answers)
                content[position] ^= 0x10
                path.write_bytes(content)
        assert detected == {path.name for path in recorded_files}
        assert self.outcome(index, cache) == (WHOLE, None)

    @staticmethod
    def assert_not_stronger(answers: list[list[int]] | None) -> None:
        for ours, whole in zip(answers or [], WHOLE, strict=bool(answers)):
            for verdict, expected in zip(ours, whole, strict=True):
                assert verdict in (SOME, expected)

    @pytest.mark.parametrize("name", ["recorded.json", "recorded.stats", "0.bits", "1.values"])
    def test_missing_or_truncated_file_is_reported(
        self, index: LocalIndex, root: Path, tmp_path: Path, name: str
    ) -> None:
        index.build(**REQUEST)
        path = next((root / "_tamis").rglob(hidden(name)))
        content = path.read_bytes()
        for damage in (b"", content[: len(content) // 2], None):
            if damage is None:
                path.unlink()
            else:
                path.write_bytes(damage)
            answers, problem = self.outcome(index, tmp_path / "cache" / str(damage)[:5])
            assert problem is not None
            assert "python -m tamis index refresh file:" in problem.text
            self.assert_not_stronger(answers)
            assert answers is not None
            assert answers[0] == [SOME, SOME, NONE, NONE]  # by the bounds of footers

    def test_newer_format_is_reported(
        self, index: LocalIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(row_statistics, "WITHOUT_AGGREGATES", 99)
            index.build(**REQUEST)
        answers, problem = self.outcome(index, tmp_path / "cache")
        assert problem is not None
        assert problem.code == "index.newer_format"
        assert answers is not None
        assert answers[0] == [SOME, SOME, NONE, NONE]  # by the bounds of footers

    def test_damaged_cache_is_rebuilt(self, index: LocalIndex, tmp_path: Path) -> None:
        index.build(**REQUEST)
        cache = tmp_path / "cache"
        assert verdicts_of(opened(index, cache)) == WHOLE
        for path in [path for path in cache.rglob("*") if path.is_file()]:
            path.write_bytes(b"")
        assert verdicts_of(opened(index, cache)) == WHOLE

    def test_interrupted_build_preserves_the_old_recording(
        self, index: LocalIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        index.build(**REQUEST)

        def interrupted(*_: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(stores.Store, "commit", interrupted)
            with pytest.raises(KeyboardInterrupt):
                index.build(columns={"a": "bounds"})
        assert verdicts_of(opened(index, tmp_path / "cache")) == WHOLE

    def test_refresh_rebuilds_a_damaged_recording(
        self, index: LocalIndex, root: Path, tmp_path: Path
    ) -> None:
        index.build(**REQUEST)
        next((root / "_tamis").rglob("_1.values")).write_bytes(b"")
        index.refresh()
        assert verdicts_of(opened(index, tmp_path / "cache")) == WHOLE


def test_members_require_the_recorded_type(index: LocalIndex, tmp_path: Path) -> None:
    """A column read as another type may have other values."""
    index.build(columns={"a": ["bloom", "values"]})
    statistics = opened(index, tmp_path / "cache").statistics
    from tamis.expr.types import INTEGER

    assert statistics.members(Column(("a",), INTEGER)) is None
    assert statistics.members(Column(("A",), LONG)) is not None
    index.case_sensitive = True
    index.build(columns={"a": "values"})
    assert opened(index, tmp_path / "cache").statistics.members(Column(("A",), LONG)) is None
