"""The ranges of a join key, compared with a reference that lists every possible value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tamis.evaluation.nodes.operators  # noqa: F401  fills the registries
from tamis.expr.nodes import Column, Expr
from tamis.expr.types import DATE, INTEGER, LONG, STRING, DataType, decimal
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.joins.key_ranges import key_ranges
from tests.cases.case import compare

WIDE = decimal(30, 0)
ARROW = {
    LONG: pa.int64(),
    INTEGER: pa.int32(),
    DATE: pa.date32(),
    STRING: pa.string(),
    WIDE: pa.decimal128(30, 0),
}
MOST = 16
Run = tuple[int, int]


@dataclass(frozen=True, slots=True)
class File:
    """The values of a file lie in low .. high. None: the end is not known."""

    low: int | None
    high: int | None
    rows: int = 5
    nulls: int = 0
    kept: bool = True
    covered: bool = True

    def has_values(self) -> bool:
        return self.rows > self.nulls


def as_cell(data_type: DataType, value: int | None) -> Any:
    """Return a value as a table holds it; the texts sort as their numbers."""
    return f"{value:03d}" if data_type == STRING and value is not None else value


def as_number(data_type: DataType, value: Any) -> int:
    return int(value) if data_type in (STRING, WIDE) else value  # type: ignore[no-any-return]


def segments_of(random: Random, data_type: DataType, files: Sequence[File]) -> list[Segment]:
    arrow = ARROW[data_type]
    ends = [[as_cell(data_type, getattr(f, name)) for f in files] for name in ("low", "high")]
    if data_type == DATE:
        columns = [pa.array(each, pa.int32()).cast(arrow) for each in ends]
    else:
        columns = [pa.array(each, arrow) for each in ends]
    table = ArrowStatistics(
        pa.table(
            {
                "min.c": columns[0],
                "max.c": columns[1],
                "null_count.c": [each.nulls for each in files],
                "num_records": [each.rows for each in files],
            }
        )
    )
    covered = np.flatnonzero([each.covered for each in files])
    cut = random.randint(0, len(covered))
    return [Segment(part, table.take(part)) for part in (covered[:cut], covered[cut:]) if len(part)]


def merged(runs: Sequence[Run], discrete: bool) -> list[Run]:
    """Return the runs in ascending order; those that overlap, or touch if discrete, are one."""
    result: list[Run] = []
    for low, high in sorted(runs):
        if result and low <= result[-1][1] + discrete:
            result[-1] = result[-1][0], max(result[-1][1], high)
        else:
            result.append((low, high))
    return result


def expected(files: Sequence[File], data_type: DataType, allowed: Sequence[Run]) -> Any:
    kept = [each for each in files if each.kept]
    if any(not each.covered for each in kept):
        return None
    possible = [each for each in kept if each.has_values()]
    if any(each.low is None or each.high is None for each in possible):
        return None
    discrete = data_type not in (STRING, WIDE)
    runs = merged([(each.low, each.high) for each in possible], discrete)  # type: ignore[misc]
    if allowed:
        parts = [
            (max(low, start), min(high, stop)) for low, high in runs for start, stop in allowed
        ]
        runs = merged([part for part in parts if part[0] <= part[1]], discrete)
    if len(runs) > MOST and not discrete:
        return [(runs[0][0], runs[-1][1])]
    if len(runs) > MOST:
        gaps = [later[0] - earlier[1] for earlier, later in pairwise(runs)]
        widest = sorted(range(len(gaps)), key=lambda place: (-gaps[place], place))[: MOST - 1]
        starts = [0, *(place + 1 for place in sorted(widest))]
        stops = [*sorted(widest), len(runs) - 1]
        runs = [(runs[a][0], runs[b][1]) for a, b in zip(starts, stops, strict=True)]
    return runs


def random_file(random: Random, width: int) -> File:
    low = random.randint(0, 600)
    high = low + random.randint(0, width)
    kind = random.random()
    if kind < 0.04:
        return random.choice([File(None, high), File(low, None), File(low, high, covered=False)])
    if kind < 0.3:
        return random.choice(
            [
                File(None, None, nulls=5),
                File(None, None, rows=0),
                File(low, high, nulls=4),
                File(None, high, kept=False),
                File(low, high, kept=False, covered=False),
            ]
        )
    return File(low, high)


@pytest.mark.parametrize("data_type", ARROW, ids=str)
def test_key_ranges_are_the_narrowest(data_type: DataType) -> None:
    random = Random(11)
    column = Column(("c",), data_type)
    known = merged_ones = 0
    for _ in range(150):
        count = random.choice([1, 2, 4, 12, 40])
        files = [random_file(random, random.choice([0, 3, 30])) for _ in range(count)]
        if count > 12 and random.random() < 0.7:  # many files are rarely all known
            files = [each for each in files if each.covered and None not in (each.low, each.high)]
        conjuncts, allowed = _filter(random, column)
        wanted = expected(files, data_type, allowed)
        kept = np.array([each.kept for each in files], np.bool_)
        found = key_ranges(column, conjuncts, segments_of(random, data_type, files), kept)
        as_runs = None
        if found is not None:
            as_runs = [
                (as_number(data_type, each.lower), as_number(data_type, each.upper))
                for each in found
            ]
        assert as_runs == wanted, (files, allowed)
        known += bool(wanted)
        merged_ones += wanted is not None and len(wanted) == (
            1 if data_type in (STRING, WIDE) else MOST
        )
    assert known > 60
    assert merged_ones > 5


def _filter(random: Random, column: Column) -> tuple[list[Expr], list[Run]]:
    """Return conjuncts, and the run of values to which they limit a column of numbers."""
    if column.type in (STRING, WIDE, DATE) or random.random() < 0.5:
        return [], []
    low, high = sorted(random.sample(range(650), 2))
    return [compare(">=", column, low), compare("<=", column, high)], [(low, high)]
