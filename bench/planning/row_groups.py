"""The cost of evaluating row groups in the kept files, compared with keeping whole files.

Four row groups per file. A range of ids keeps one file in a hundred, or all of them; it ends inside
of a file, so that row groups can be skipped. Wall-clock milliseconds of one question in the
planner's process, statistics in the local cache, the minimum of interleaved rounds. *first* is the
first question about row groups, when the local cache has none of their statistics.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.planning.first_touch import write_index
from tamis.indexing.read.open_indexes import open_index
from tamis.serve.planning import plan

SIZES = (10_000, 100_000, 1_000_000)
GROUPS = 4
_ROUNDS = 12


def _write_snapshot(folder: Path, store_uri: str, files: object) -> None:
    for part, table in (
        (
            "files",
            pa.table({name: getattr(files, name) for name in ("group", "name", "size", "mtime")}),
        ),
        ("groups", pa.table({"directory": [store_uri]})),
    ):
        path = str(folder / f"bench.{part}.arrow")
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)


def _question(folder: Path, root: str, size: int, row_groups: bool, stop: int) -> str:
    def compared(name: str, value: int) -> dict[str, object]:
        column = {"n": "col", "p": ["id"], "t": "long", "nullable": True}
        return {
            "n": "call",
            "f": name,
            "t": "boolean",
            "a": [column, {"n": "lit", "t": "long", "v": value}],
        }

    return json.dumps(
        {
            "version": 1,
            "id": "1",
            "snapshot": {"fingerprint": "bench", "directory": str(folder), "files": size},
            "table": {"name": "t", "roots": [root]},
            "cache_directory": str(folder / "cache"),
            "conjuncts": [
                compared("GreaterThanOrEqual", 7),
                compared("LessThan", stop),
            ],
            "row_groups": row_groups,
        }
    )


def measure(folder: Path, size: int) -> list[list[str]]:
    """Return rows of the table."""
    here = folder / f"row-groups-{size}"
    store = write_index(here, size, GROUPS)
    shutil.rmtree(here / "cache", ignore_errors=True)
    _write_snapshot(here, store.root, open_index(store, str(here / "cache")).files)
    plan(_question(here, store.root, size, False, 97))  # opens the index
    started = time.perf_counter()
    plan(_question(here, store.root, size, True, 97))
    first = 1000 * (time.perf_counter() - started)
    rows = []
    for kept, stop in (("1 %", size // 10 + 7), ("all", 10 * size - 2)):
        best = {False: np.inf, True: np.inf}
        answer: dict[str, object] = {}
        length = 0
        for _ in range(_ROUNDS):
            for with_groups in (False, True):
                question = _question(here, store.root, size, with_groups, stop)
                started = time.perf_counter()
                text = plan(question)
                best[with_groups] = min(best[with_groups], time.perf_counter() - started)
                if with_groups:
                    answer, length = json.loads(text), len(text)
        groups = answer["row_groups"]
        assert isinstance(groups, dict)
        rows.append(
            [
                f"{size:,}",
                kept,
                f"{groups['kept']:,} of {groups['total']:,}",
                f"{1000 * best[False]:.2f}",
                f"{1000 * best[True]:.2f}",
                f"{best[True] / best[False]:.1f}",
                f"{length:,}",
                f"{first:.0f}",
            ]
        )
    return rows


def table(folder: Path) -> list[str]:
    """Return the figures as a Markdown table."""
    heads = ["files", "kept", "row groups kept", "files only", "row groups too", "ratio"]
    heads += ["answer, bytes", "first"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---:|" * len(heads)]
    for size in SIZES:
        lines += ["| " + " | ".join(row) + " |" for row in measure(folder, size)]
    return lines
