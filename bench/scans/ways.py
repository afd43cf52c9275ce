"""The same queries in several ways: with other confs of tamis, in turn."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Compared", "Ways", "compare"]

#: The confs of each way.
Ways = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Compared:
    """The runs of a query, whose answers are the same in all ways.

    Attributes:
        seconds: Of each measured run, by way.
        found: What the plan of the last run shows, by way.
    """

    seconds: Mapping[str, list[float]]
    found: Mapping[str, int]

    def medians(self) -> str:
        """Return the median seconds of all ways as cells of a table."""
        return " | ".join(f"{statistics.median(each):.2f}" for each in self.seconds.values())

    def ratio(self, way: str, base: str) -> str:
        """Return the ratio of the seconds of two ways: the median, the least and the greatest."""
        pairs = zip(self.seconds[way], self.seconds[base], strict=True)
        ratios = [a / b for a, b in pairs]
        return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def compare(
    spark: SparkSession,
    title: str,
    sql: str,
    ways: Ways,
    rounds: int,
    rng: random.Random,
    look_at: Callable[[Any], int],
) -> Compared:
    """Run a query in all ways, in random order within every round, after a round that warms up.

    Args:
        look_at: Returns what an executed plan of the JVM shows.

    Raises:
        SystemExit: Two answers differ.
    """
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    answers, found = [], {}
    for number in range(rounds + 1):
        for way in rng.sample(list(ways), len(ways)):
            for key, value in ways[way].items():
                spark.conf.set(key, value)
            started = time.perf_counter()
            frame = spark.sql(sql)
            answers.append([tuple(row) for row in frame.collect()])
            taken = time.perf_counter() - started
            found[way] = look_at(frame._jdf.queryExecution().executedPlan())
            for key in ways[way]:
                spark.conf.unset(key)
            if number:
                seconds[way].append(taken)
    if any(answer != answers[0] for answer in answers):
        raise SystemExit(f"the answers to {title!r} differ")
    return Compared(seconds, found)
