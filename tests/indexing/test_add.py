"""`Index.add` reads only what the index lacks, and gives the index that a build would give."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.errors import StatisticsIndexError
from tamis.indexing.build.current_index import held_by
from tamis.indexing.format.entry_statistics import Columns, RowStatistics
from tamis.indexing.format.layout import FILES, ROW_GROUPS
from tamis.indexing.format.row_statistics import load
from tests.indexing.local import LocalIndex, LocalReader, spark_schema

SCHEMA = spark_schema(a="long", x="double", y="double")
NAMES = ["0.parquet", "1.parquet", "2.parquet"]


def write(root: Path, number: int, values: Sequence[float]) -> None:
    root.mkdir(exist_ok=True)
    table = pa.table({"a": [number, number + 10], "x": values, "y": [1.0, 2.0]})
    pq.write_table(table, root / f"{number}.parquet")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(len(NAMES)):
        write(tmp_path / "table", number, [number, 2.5])
    return tmp_path / "table"


@pytest.fixture
def index(root: Path, tmp_path: Path) -> LocalIndex:
    return LocalIndex(root, SCHEMA, tmp_path / "scratch")


def what_is_read(index: LocalIndex, act: Callable[[], Any]) -> tuple[list[str], list[str]]:
    """Return the files whose footers, and those whose rows, an action reads."""
    index.read.clear()
    index.aggregated.clear()
    act()
    return sorted(index.read), sorted(index.aggregated)


def content(index: LocalIndex) -> dict[str, Any]:
    """Return everything that an index knows, without times and names of files of the index."""
    store = index.store()
    held = held_by(store)
    assert held is not None
    parts = {
        repr(entry.meaning): _plain(load(store, held.pointer, k, entry))
        for k, entry in enumerate(held.entries)
    }
    return {
        "columns": [column.leaf for column in held.pointer.columns],
        "spec": (held.spec.fills_gaps, dict(held.spec.columns), dict(held.spec.expressions)),
        "gaps": sorted(entry.name for entry in held.gaps),
        "parts": parts,
        "files": store.columns(held.pointer, FILES).to_pylist(),
        "row groups": store.columns(held.pointer, ROW_GROUPS).to_pylist(),
    }


def _plain(part: Columns) -> Any:
    if part.columns is not None:
        return {name: array.to_pylist() for name, array in part.columns.items()}
    if part.filters is not None:
        return [None if words is None else words.tolist() for words in part.filters.each()]
    assert part.lists is not None
    values = part.lists.values
    return part.lists.counts.tolist(), [values[k] for k in range(len(values))]


def same_as_build(index: LocalIndex, tmp_path: Path, **arguments: Any) -> bool:
    other = LocalIndex(index.root, SCHEMA, tmp_path / "other", str(tmp_path / "location"))
    other.build(**arguments)
    return content(index) == content(other)


def test_footers_are_not_read_again(index: LocalIndex, tmp_path: Path) -> None:
    index.build(fill_gaps=False)
    assert what_is_read(index, lambda: index.add(columns={"a": "bloom"})) == ([], NAMES)
    assert same_as_build(index, tmp_path, columns={"a": "bloom"}, fill_gaps=False)


def test_other_rows_are_not_read_again(index: LocalIndex, tmp_path: Path) -> None:
    index.build(columns={"a": ["bloom", "values"]}, expressions={"twice(a)": "bounds"})
    assert what_is_read(index, lambda: index.add(columns={"a": "bloom"})) == ([], [])
    assert what_is_read(index, lambda: index.add(columns={"x": "values"})) == ([], NAMES)
    more = {"a": ["bloom", "values"], "x": "values"}
    assert same_as_build(index, tmp_path, columns=more, expressions={"twice(a)": "bounds"})


def test_changed_files_are_read(index: LocalIndex, root: Path, tmp_path: Path) -> None:
    index.build(columns={"a": "values"}, fill_gaps=False)
    write(root, 3, [1.0, 2.0])
    write(root, 1, [7.0, 8.0])
    os.utime(root / "1.parquet", (1, 1))
    (root / "0.parquet").unlink()
    new = ["1.parquet", "3.parquet"]
    read, aggregated = what_is_read(index, lambda: index.add(columns={"a": "bloom"}))
    assert (read, aggregated) == (new, sorted([*new, *new, "2.parquet"]))
    assert same_as_build(index, tmp_path, columns={"a": ["values", "bloom"]}, fill_gaps=False)


def test_files_with_the_time_of_an_archive_are_not_read_again(
    index: LocalIndex, root: Path
) -> None:
    """Queries do not use what is known about them."""
    os.utime(root / "1.parquet", (1, 1))
    index.build(columns={"a": "values"}, fill_gaps=False)
    built = index.store().pointer()
    assert what_is_read(index, index.refresh) == ([], [])
    assert index.store().pointer() == built
    description = index.describe()
    assert not description.staleness.is_stale
    assert description.staleness.untimed == 1
    assert "1990, whose statistics queries do not use: 1. Set their times" in str(description)


def test_bounds_of_a_column_with_gaps(index: LocalIndex, tmp_path: Path) -> None:
    """Requested bounds are recorded for all files, and no longer fill a gap."""
    index.build()
    assert content(index)["gaps"] == ["x", "y"]
    assert what_is_read(index, lambda: index.add(columns={"x": "bounds"})) == ([], NAMES)
    assert content(index)["gaps"] == ["y"]
    assert same_as_build(index, tmp_path, columns={"x": "bounds"})


@pytest.mark.parametrize("fills", [True, False])
def test_choice_about_gaps_is_changed(index: LocalIndex, tmp_path: Path, fills: bool) -> None:
    index.build(fill_gaps=not fills)
    read = what_is_read(index, lambda: index.add(fill_gaps=fills))
    assert read == ([], NAMES if fills else [])
    assert same_as_build(index, tmp_path, fill_gaps=fills)


def test_gaps_that_could_not_be_read_are_tried_again(
    index: LocalIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill = LocalReader._fill_gaps

    def fill_in_part(self: LocalReader, *arguments: Any) -> Any:
        """Leave x of the second file out, as a job does for a file that it cannot read."""
        entries, rows, problems = fill(self, *arguments)
        parts = list(rows.parts)
        (of_x,) = (k for k, entry in enumerate(entries) if entry.name == "x")
        readable = pa.array([0, None, 2])
        columns = parts[of_x].columns or {}
        parts[of_x] = Columns({name: array.take(readable) for name, array in columns.items()})
        return entries, RowStatistics(tuple(parts), rows.seconds), problems

    with monkeypatch.context() as patched:
        patched.setattr(LocalReader, "_fill_gaps", fill_in_part)
        index.build()
    assert what_is_read(index, index.refresh) == ([], [])
    assert not same_as_build(index, tmp_path)
    assert what_is_read(index, index.add) == ([], ["1.parquet"])
    assert same_as_build(index, tmp_path)
    assert what_is_read(index, index.add) == ([], [])


@pytest.mark.parametrize("change", ["refresh", "add"])
def test_changes_of_another_process_are_kept(
    index: LocalIndex, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    index.build(fill_gaps=False)
    other = LocalIndex(root, SCHEMA, tmp_path / "scratch of the other")
    aggregate, calls = LocalReader._aggregate, 0

    def meanwhile(self: LocalReader, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            write(root, 3, [1.0, 2.0])
            other.refresh() if change == "refresh" else other.add(columns={"x": "values"})
        return aggregate(self, *arguments)

    monkeypatch.setattr(LocalReader, "_aggregate", meanwhile)
    index.add(columns={"a": "bloom"})
    monkeypatch.undo()
    # new files are read in addition, and other statistics are a reason to start again
    again = ["3.parquet"] if change == "refresh" else [*NAMES, "3.parquet"]
    assert sorted(index.aggregated) == sorted([*NAMES, *again])
    columns = {"a": "bloom"} if change == "refresh" else {"x": "values", "a": "bloom"}
    assert same_as_build(index, tmp_path, columns=columns, fill_gaps=False)


def test_changes_without_end_are_an_error(
    index: LocalIndex, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.build(fill_gaps=False)
    other = LocalIndex(root, SCHEMA, tmp_path / "scratch of the other")
    aggregate, kinds = LocalReader._aggregate, ["bloom", "values"]

    def meanwhile(self: LocalReader, *arguments: Any) -> Any:
        if self._spark is index and len(arguments[0]):
            kinds.reverse()
            other.build(columns={"x": kinds[0]}, fill_gaps=False)
        return aggregate(self, *arguments)

    monkeypatch.setattr(LocalReader, "_aggregate", meanwhile)
    with pytest.raises(StatisticsIndexError, match="run it again"):
        index.add(columns={"a": "bloom"})
    monkeypatch.undo()
    assert same_as_build(index, tmp_path, columns={"x": kinds[0]}, fill_gaps=False)
