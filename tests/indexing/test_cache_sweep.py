"""Which generations a sweep removes from the local cache, and when one takes place."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tamis.indexing.read import cache_sweep
from tamis.indexing.read.cache import LocalCache
from tamis.indexing.read.cache_sweep import sweep, sweep_when_due

if TYPE_CHECKING:
    from collections.abc import Callable

HOUR = 3600
SIZE = 100  # bytes of a generation


def generation(indexes: Path, name: str, hours: float) -> Path:
    """Return a generation that was last opened some hours ago."""
    directory = indexes / name
    (directory / "entry").mkdir(parents=True)
    (directory / "entry" / "lower.npy").write_bytes(b"x" * SIZE)
    opened = time.time() - hours * HOUR
    os.utime(directory, (opened, opened))
    return directory


def kept(indexes: Path) -> set[str]:
    return {str(path.relative_to(indexes)) for path in indexes.glob("*/*")}


def test_idle_generations_of_an_index_with_others_are_removed(tmp_path: Path) -> None:
    current = generation(tmp_path, "a/current", 2)
    for name, hours in {
        "a/idle": 1.1,
        "a/used": 0.9,
        "b/old": 50,
        "b/older": 51,
        "c/only": 99,
    }.items():
        generation(tmp_path, name, hours)
    (tmp_path / "swept").touch()
    sweep(tmp_path, current)
    assert kept(tmp_path) == {"a/current", "a/used", "b/old", "c/only"}


def test_leftovers_of_an_interrupted_sweep_are_removed(tmp_path: Path) -> None:
    current = generation(tmp_path, "a/current", 0)
    generation(tmp_path, "a/.gone.1234", 2)
    sweep(tmp_path, current)
    assert kept(tmp_path) == {"a/current"}


def test_oldest_generations_beyond_the_limit_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_sweep, "_LIMIT", 2 * SIZE)
    current = generation(tmp_path, "a/current", 9)
    for name, hours in {"b/x": 1, "c/x": 3, "d/x": 2}.items():
        generation(tmp_path, name, hours)
    sweep(tmp_path, current)
    assert kept(tmp_path) == {"a/current", "b/x"}
    assert not (tmp_path / "c").exists()


def test_everything_within_the_limit_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_sweep, "_LIMIT", 2 * SIZE)
    current = generation(tmp_path, "a/current", 0)
    generation(tmp_path, "b/x", 500)
    sweep(tmp_path, current)
    assert kept(tmp_path) == {"a/current", "b/x"}


@pytest.fixture
def sweeps(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return a function that counts the sweeps that have ended."""
    ended: list[Path] = []
    original = sweep

    def recorded(indexes: Path, current: Path) -> None:
        original(indexes, current)
        ended.append(current)

    def count() -> int:
        for thread in threading.enumerate():
            if thread.name == "tamis cache sweep":
                thread.join()
        return len(ended)

    monkeypatch.setattr(cache_sweep, "sweep", recorded)
    return count


@pytest.mark.parametrize("minutes", [-11, 11])
def test_sweeps_are_ten_minutes_apart(
    tmp_path: Path, sweeps: Callable[[], int], minutes: int
) -> None:
    current = generation(tmp_path, "a/current", 0)
    for _ in range(3):
        sweep_when_due(current)
        assert sweeps() == 1
    then = time.time() - minutes * 60
    os.utime(tmp_path / "swept", (then, then))
    sweep_when_due(current)
    assert sweeps() == 2


def test_opening_a_cache_removes_idle_generations(
    tmp_path: Path, sweeps: Callable[[], int]
) -> None:
    first = LocalCache.of("file:/t", "1", str(tmp_path)).directory
    assert first is not None
    assert sweeps() == 1
    os.utime(first, (0, 0))
    (first.parent.parent / "swept").unlink()
    second = LocalCache.of("file:/t", "2", str(tmp_path)).directory
    assert sweeps() == 2
    assert second is not None
    assert list(second.parent.iterdir()) == [second]
