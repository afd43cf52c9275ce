"""`python -m bench.append_cost`: how much longer an append takes with automatic indexes.

Each way appends files of 1,000 rows to its own table. The ways take turns, in random order. For
each append, the benchmark records the wall-clock time, the CPU time of the driver process and that
of the thread that runs the command. The ratios to plain Spark are those of the sums over all
appends, without the tenth of the rounds that took longest. The intervals contain the ratio in 95 %
of 10,000 bootstrap samples of the rounds.

*alone*: there is a pause before each append, for the background work of the one before. *in a row*:
each way appends several files, one directly after the other, and all of them count together.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from bench.appends import WAYS, Way, put, session_of
from bench.driver_clocks import DriverClocks
from bench.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The second one shows how far the ratio of two equal ways is from 1.
_WAYS: Final = tuple(
    Way(name, table, confs=next(way for way in WAYS if way.table == like).confs)
    for name, table, like in (
        ("plain Spark", "plain", "plain"),
        ("plain Spark again", "again", "plain"),
        ("no index", "unindexed", "unindexed"),
        ("automatic index", "automatic", "automatic"),
    )
)
_WARM_UP: Final = 15  # rounds
_SAMPLES: Final = 10_000


def run(
    spark: SparkSession, files: int, rounds: int, together: int, pause: float
) -> dict[str, npt.NDArray[np.float64]]:
    """Return seconds by way, for each round and measure."""
    ways = [replace(way, table=f"{way.table}_{together}") for way in _WAYS]
    sessions = {way.name: session_of(spark, way) for way in ways}
    for way in ways:
        sessions[way.name].sql(f"CREATE TABLE {way.table} (id BIGINT, x DOUBLE) USING parquet")
        put(sessions[way.name], way, range(files))
    clocks = DriverClocks(spark)
    taken: dict[str, list[npt.NDArray[np.float64]]] = {way.name: [] for way in ways}
    for number in range(rounds + _WARM_UP):
        for way in random.Random(number).sample(ways, len(ways)):
            time.sleep(pause)
            before = clocks.read()
            for each in range(together):
                file = files + number * together + each
                put(sessions[way.name], way, range(file, file + 1))
            taken[way.name].append(clocks.read() - before)
    return {name: np.array(each[_WARM_UP:]) for name, each in taken.items()}


def compare(
    mine: npt.NDArray[np.float64], plain: npt.NDArray[np.float64]
) -> list[tuple[float, float, float]]:
    """Return ratio, and its 95 % interval, of each measure.

    Args:
        mine: Seconds by round and measure.
        plain: The same of plain Spark.
    """
    rng = np.random.default_rng(0)
    slow = np.maximum(mine[:, 0], plain[:, 0])
    kept = slow <= np.quantile(slow, 0.9)
    mine, plain = mine[kept], plain[kept]
    samples = rng.integers(0, len(mine), (_SAMPLES, len(mine)))
    sampled = mine[samples].sum(axis=1) / plain[samples].sum(axis=1)
    low, high = np.quantile(sampled, (0.025, 0.975), axis=0)
    return list(zip(mine.sum(axis=0) / plain.sum(axis=0), low, high, strict=True))


def show(title: str, taken: dict[str, npt.NDArray[np.float64]], together: int) -> None:
    """Print a table: medians in milliseconds per append, and ratios."""
    plain, *_ = taken.values()
    print(f"\n{title}: {len(plain)} rounds\n")
    print("| | " + " | ".join(f"{name}, ms | / plain Spark" for name in DriverClocks.NAMES) + " |")
    print("|---|" + "---:|" * 2 * len(DriverClocks.NAMES))
    for name, seconds in taken.items():
        cells = []
        for median, (ratio, low, high) in zip(
            np.median(seconds, axis=0), compare(seconds, plain), strict=True
        ):
            cells += [f"{1000 * median / together:.1f}", f"{ratio:.3f} ({low:.3f} to {high:.3f})"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=50, help="files before the first append")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--together", type=int, default=5, help="appends in a row")
    parser.add_argument("--pause", type=float, default=0.3, help="seconds before an append alone")
    options = parser.parse_args(given)
    folder = Path(tempfile.mkdtemp(prefix="tamis-append-cost-"))
    confs = {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.tamis.cache.location": str(folder / "cache"),
    }
    spark = session("3g", confs)
    try:
        show("alone", run(spark, options.files, options.rounds, 1, options.pause), 1)
        in_a_row = run(spark, options.files, options.rounds // 5, options.together, options.pause)
        show("in a row", in_a_row, options.together)
    finally:
        spark.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
