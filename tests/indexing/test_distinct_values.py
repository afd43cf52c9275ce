"""Sketches of distinct values in an index: written, read as a whole and in parts, and merged."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.errors import StatisticsIndexError
from tamis.evaluation import verdicts
from tamis.expr.nodes import Column, Compare, Comparison, Literal
from tamis.expr.types import INTEGER, LONG, STRING
from tamis.indexing.build import table_reader
from tamis.indexing.format import distinct_sketches
from tamis.indexing.format import row_statistics as stored_rows
from tamis.indexing.format.distinct_sketches import STANDARD_ERROR, estimate
from tamis.indexing.format.layout import hidden
from tamis.indexing.format.row_statistics import recording_of
from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read import row_statistics
from tamis.indexing.read.open_indexes import OpenIndex, open_index
from tests.indexing.local import LocalIndex, sketch_of, spark_schema

A, S = Column(("a",), LONG), Column(("s",), STRING)
ALL = slice(0, 4)


def write(path: Path, *values: int | None) -> None:
    texts = [None if v is None else "x" * (v % 5) for v in values]
    columns = {"a": pa.array(values, pa.int64()), "s": pa.array(texts, pa.string())}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "t"
    write(root / "0.parquet", 1, 2, 3, 3)
    write(root / "1.parquet", 3, 4, None)
    write(root / "2.parquet", None)
    write(root / "3.parquet", *range(1000))
    return root


@pytest.fixture
def index(root: Path, tmp_path: Path) -> LocalIndex:
    index = LocalIndex(root, spark_schema(a="long", s="string"), tmp_path / "scratch")
    index.build(columns={"a": "ndv", "s": "ndv"})
    return index


def opened(index: LocalIndex) -> OpenIndex:
    return open_index(index.store(), str(index.scratch / "cache"))


def distinct(
    index: LocalIndex, rows: slice | list[int] = ALL, column: Column = A
) -> tuple[int, int | None, int | None] | None:
    """Return the number of distinct values, the sum of their lengths, and the greatest length."""
    chosen = rows if isinstance(rows, slice) else np.array(rows, np.int64)
    values = opened(index).statistics.distinct(column, chosen)
    return None if values is None else (estimate([values.sketch]), values.length, values.longest)


def test_whole_index_and_parts_of_it(index: LocalIndex) -> None:
    whole = distinct(index)
    assert whole is not None
    assert whole[0] == pytest.approx(1000, rel=3 * STANDARD_ERROR)
    assert distinct(index, slice(0, 2)) == (4, None, None)
    assert distinct(index, [1]) == (2, None, None)
    assert distinct(index, [2]) == (0, None, None)
    assert distinct(index, slice(0, 2), S) == (4, 1 + 2 + 3 + 3 + 3 + 4, 4)
    assert distinct(index, [2], S) == (0, 0, None)
    assert distinct(index, column=Column(("b",), LONG)) is None
    assert distinct(index, column=Column(("a",), INTEGER)) is None


def test_sketches_of_a_large_index_serve_parts_of_it(
    index: LocalIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_statistics, "_MOST_SKETCHES", 10)
    part, whole = distinct(index, [1]), distinct(index)
    assert part == whole  # at least as many as the part has


def test_a_file_without_a_sketch_makes_the_number_unknown(index: LocalIndex, root: Path) -> None:
    (root / "1.parquet").write_bytes(b"PAR1 nothing PAR1")
    index.refresh()
    assert distinct(index) is None
    assert distinct(index, [0, 2]) == (3, None, None)


def test_appended_and_rewritten_files(index: LocalIndex, root: Path) -> None:
    write(root / "4.parquet", -1, -2)
    index.refresh()
    assert len(index.store().pointer().segments) == 2
    assert distinct(index, [0, 4]) == (5, None, None)
    whole, before = distinct(index, slice(0, 5)), distinct(index, slice(0, 4))
    assert whole is not None
    assert before is not None
    assert whole[0] == pytest.approx(before[0] + 2, abs=2)
    (root / "3.parquet").unlink()
    write(root / "0.parquet", 7)
    index.refresh()  # writes the whole index again
    assert len(index.store().pointer().segments) == 1
    assert distinct(index, slice(0, 4)) == (5, None, None)
    # the texts of 7; 3 and 4; none; -1 and -2
    assert distinct(index, slice(0, 4), S) == (3, 2 + 3 + 4 + 4 + 3, 4)


def test_merged_segments(index: LocalIndex, root: Path) -> None:
    (root / "3.parquet").unlink()
    index.refresh()
    for k in range(17):
        write(root / f"9{k:02}.parquet", 100 + k)
        index.refresh()
    pointer = index.store().pointer()
    assert 1 < len(pointer.segments) < 18
    assert distinct(index, slice(0, 20)) == (4 + 17, None, None)
    recording = recording_of(index.store(), pointer)
    assert recording is not None
    assert [entry.files for entry in recording.entries[:2]] == [20, 20]


def test_damage_leaves_the_rest_of_the_index(index: LocalIndex, root: Path) -> None:
    generation = index.store().pointer().generation
    below = Compare(Comparison.LESS, A, Literal(0, LONG))
    for name, rows in (("0.sketches", [0, 1]), ("0.union", ALL), ("recorded.stats", ALL)):
        path = root / "_tamis" / generation / hidden(name)
        content = path.read_bytes()
        path.write_bytes(b"\xff" * len(content))
        statistics = opened(index).statistics
        chosen = rows if isinstance(rows, slice) else np.array(rows, np.int64)
        assert statistics.distinct(A, chosen) is None
        assert statistics.problem is not None
        assert "refresh" in statistics.problem.text
        path.write_bytes(content)
        assert verdicts(below, opened(index).statistics).tolist() == [0, 0, 0, 0]


def test_missing_library_is_a_warning_and_no_damage(
    index: LocalIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasketches", None)
    statistics = opened(index).statistics
    assert not statistics.records_distinct  # so that no row counts are reported either
    assert statistics.distinct(A, ALL) is None
    assert statistics.problem is not None
    assert statistics.problem.code == "index.library_missing"
    assert "pip install 'tamis[ndv]'" in statistics.problem.text
    assert statistics.bounds(A).lower is not None  # everything else is read
    with pytest.raises(StatisticsIndexError, match="need the package datasketches"):
        index.build(columns={"a": "ndv"})


def test_refresh_without_the_library_indexes_everything_else(
    index: LocalIndex, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(next(root.glob("*.parquet")), root / "new.parquet")
    with monkeypatch.context() as patched:
        problem = IndexUnusable("index.library_missing", "no datasketches", "install it")

        def fail(*_: object) -> bytes:
            raise problem

        without = SimpleNamespace(**{**vars(distinct_sketches), "union_of": fail})
        patched.setattr(stored_rows, "distinct_sketches", without)
        patched.setattr(table_reader, "missing_library", lambda: problem)
        with pytest.warns(UserWarning, match="lacks numbers of distinct values"):
            index.refresh()
    statistics = opened(index).statistics
    assert not index.describe().staleness.is_stale
    assert statistics.bounds(A).lower is not None
    assert statistics.distinct(A, slice(0, 5)) is None
    assert statistics.problem is None


def test_other_indexes_record_no_distinct_values(index: LocalIndex) -> None:
    assert opened(index).statistics.records_distinct
    index.build(columns={"a": "values"})
    assert not opened(index).statistics.records_distinct
    assert opened(index).statistics.distinct(A, ALL) is None


def test_sizes_of_sketches() -> None:
    """The numbers in docs/statistics_index.md."""
    for values, least, most in ((0, 0, 0), (1, 1, 40), (100, 300, 450), (10**5, 1000, 1100)):
        sketch = sketch_of([k * 0x9E3779B97F4A7C15 % 2**64 for k in range(values)])
        assert least <= len(sketch) <= most
        assert estimate([sketch]) == pytest.approx(values, rel=3 * STANDARD_ERROR)
    with pytest.raises(ValueError, match="damaged"):
        distinct_sketches.union_of([b"no sketch"])


def test_lengths_are_unknown_only_where_the_sketch_is() -> None:
    sketches = distinct_sketches.joined(
        [b"a", None, b""], np.array([3, -1, 0]), np.array([2, -1, -1])
    )
    taken = sketches.take(np.array([2, -1, 0, 1]))
    assert list(taken.each()) == [b"", None, b"a", None]
    assert taken.lengths is not None
    assert taken.longest is not None
    assert taken.lengths.tolist() == [0, -1, 3, -1]
    assert taken.longest.tolist() == [-1, -1, 2, -1]
