"""An index of many segments, in comparison with one of the same files in one segment.

A new process opens the index, and answers a first question about two columns: *cold*, with an empty
local cache, and *warm*, with the cache that another process left. Then it answers more questions
with other constants. Processes for both indexes take turns. CPU milliseconds, minimum.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from bench.planning.first_touch import anonymous_mb, write_index
from tamis.evaluation import verdicts
from tamis.expr.nodes import And, Column, Compare, Comparison, Literal
from tamis.expr.types import LONG, STRING
from tamis.indexing.format.store import Store
from tamis.indexing.read.open_indexes import open_index

SIZES = (1_000_000,)
SEGMENTS = (1, 16, 100)
_ROUNDS = 5
_QUESTIONS = 10


def ask(root: str, cache: Path) -> list[float]:
    """Return CPU milliseconds to open the index with the first question, and of each later one."""
    number, text = Column(("id",), LONG), Column(("name",), STRING)
    taken = []
    started = time.process_time()
    index = open_index(Store.at(root, None, {}), str(cache))
    size = index.pointer.totals.files
    for question in range(1 + _QUESTIONS):
        first = size // 3 + question
        after = Compare(Comparison.GREATER, number, Literal(first * 10, LONG))
        before = Compare(Comparison.LESS, text, Literal(f"n{(first + 900) * 10:09d}", STRING))
        verdict = verdicts(And((after, before)), index.statistics)
        assert 0 < np.count_nonzero(verdict != verdict[0]) < 1000
        taken.append(1000 * (time.process_time() - started))
        started = time.process_time()
    assert index.statistics.problem is None, index.statistics.problem
    return taken


def table(folder: Path) -> list[str]:
    """Return the figures as a Markdown table."""
    lines = [
        "| files | segments | cold | warm | later questions | cold, ratio | warm, ratio |"
        " later, ratio |"
        " memory, cold |",
        "|" + "---:|" * 9,
    ]
    for size in SIZES:
        best: dict[int, list[float]] = {}
        for segments in SEGMENTS:
            write_index(folder / f"segments-{segments}", size, segments=segments)
        for _ in range(_ROUNDS):
            for segments in SEGMENTS:
                cache = folder / f"segments-{segments}-cache"
                shutil.rmtree(cache, ignore_errors=True)
                cold, warm = (_figures(folder / f"segments-{segments}", cache) for _ in range(2))
                now = [cold[0], warm[0], warm[1], cold[2]]
                best[segments] = [*map(min, now, best.get(segments, now))]
        for segments in SEGMENTS:
            cold_ms, warm_ms, later, memory = best[segments]
            ratios = [
                f"{mine / one:.2f}" for mine, one in zip(best[segments], best[1], strict=True)
            ]
            figures = [f"{cold_ms:.0f}", f"{warm_ms:.1f}", f"{later:.1f}", *ratios[:3]]
            lines.append(f"| {size:,} | {segments} | {' | '.join(figures)} | {memory:.0f} MB |")
        for segments in SEGMENTS:
            shutil.rmtree(folder / f"segments-{segments}")
            shutil.rmtree(folder / f"segments-{segments}-cache")
    return lines


def _figures(index: Path, cache: Path) -> tuple[float, float, float]:
    """Return milliseconds of the first question and of later ones, and megabytes, in a process."""
    command = [sys.executable, "-m", "bench.planning.segments", str(index), str(cache)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    first, later, memory = map(float, done.stdout.split())
    return first, later, memory


def _main(index: Path, cache: Path) -> None:
    root = index.resolve().as_uri().replace("file://", "file:")
    first, *later = ask(root, cache)
    print(first, min(later), anonymous_mb())


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]))
