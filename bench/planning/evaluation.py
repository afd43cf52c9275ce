"""Evaluation alone: from predicates to kept files, over statistics in memory.

CPU time of one thread, the minimum of interleaved rounds, so that every case finds the processor's
cache filled by the others; `range again` is the range directly after itself. `numpy` is the same
range written by hand over whole arrays, `pyarrow` the same with pyarrow.compute. Both show the cost
of the bare comparisons, without NULLs, truth values or exactness.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.planning.resident import Resident
from tamis.classification import Capabilities, classify
from tamis.evaluation import verdicts
from tamis.expr.nodes import And, Column, Compare, Comparison, Expr, In, Literal, Or
from tamis.expr.types import LONG
from tamis.files.segments import Segment
from tamis.plan.scan_decision import decide
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.kept import encode_kept

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
COLUMNS = 10
_ROUNDS = 15


def _random(size: int) -> Resident:
    """Return bounds of LONG columns, clustered by the first."""
    rng = np.random.default_rng(1)
    ends = {}
    for number in range(COLUMNS if size <= 1_000_000 else 1):
        lower = np.arange(size) * 10 if number == 0 else rng.integers(0, 10 * size, size)
        ends[f"c{number}"] = LONG, lower, lower + rng.integers(1, 100, size)
    return Resident(ends, size)


def _compare(name: str, operator: Comparison, value: int) -> Expr:
    return Compare(operator, Column((name,), LONG), Literal(value, LONG))


def _range(size: int, name: str = "c0") -> list[Expr]:
    """Return a range that matches one in a hundred containers of the clustered column."""
    start = 5 * size
    return [
        _compare(name, Comparison.GREATER_EQUAL, start),
        _compare(name, Comparison.LESS, start + size // 10),
    ]


def cases(size: int) -> dict[str, Callable[[], object]]:
    """Return the measured calls by name."""
    statistics = _random(size)
    segments = [Segment(slice(0, size), statistics)]
    _, first_lower, first_upper = statistics.ends["c0"]
    lower, upper = pa.array(first_lower), pa.array(first_upper)
    start, stop = 5 * size, 5 * size + size // 10

    def tamis(conjuncts: list[Expr]) -> Callable[[], object]:
        return lambda: encode_kept(decide(conjuncts, segments, size).kept)

    figures_of: dict[str, Callable[[], object]] = {
        "range": tamis(_range(size)),
        "numpy": lambda: np.packbits((first_upper >= start) & (first_lower < stop)),
        "pyarrow": lambda: pc.and_(pc.greater_equal(upper, start), pc.less(lower, stop)),
    }
    if len(statistics.ends) == COLUMNS:
        rng = np.random.default_rng(2)
        keys = tuple(int(k) for k in rng.integers(0, 10 * size, 1000))
        wide = [_compare(f"c{i}", Comparison.GREATER, size // 2) for i in range(1, COLUMNS - 2)]
        listed: Expr = In(Column(("c9",), LONG), keys, False)
        figures_of["ten conjuncts"] = tamis([*wide, listed, *_range(size)])
        figures_of["IN 1000"] = tamis([In(Column(("c0",), LONG), keys, False)])
    return figures_of


#: Conjuncts of the cases that measure the number of conjuncts, not of containers.
CONJUNCTS, FILES, KEYS = 50, 1_000, 100_000


def fifty_conjuncts() -> dict[str, Callable[[], object]]:
    """Return cases with ranges and ORs of 25 columns over a thousand files, by stage."""
    rng = np.random.default_rng(3)
    ends, conjuncts = {}, []
    for number in range(CONJUNCTS // 2):
        name = f"c{number}"
        lower = rng.integers(0, FILES, FILES)
        ends[name] = LONG, lower, lower + FILES
        above = _compare(name, Comparison.GREATER_EQUAL, 10)
        below = _compare(name, Comparison.LESS, 19 * FILES // 10)
        conjuncts += [
            above,
            below if number % 3 else Or((below, _compare("c0", Comparison.LESS, 5))),
        ]
    statistics = Resident(ends, FILES)
    capabilities = Capabilities(list(ends))
    segments = [Segment(slice(0, FILES), statistics)]
    whole = And(tuple(conjuncts))
    return {
        "classify": lambda: classify(whole, capabilities),
        "evaluate": lambda: verdicts(whole, statistics),
        "decide": lambda: decide(conjuncts, segments, FILES),
    }


def long_lists() -> dict[str, Callable[[], object]]:
    """Return cases with a list of 100,000 keys over 100,000 files, including its document."""
    rng = np.random.default_rng(4)
    lower = np.arange(KEYS) * 10
    statistics = Resident({"c0": (LONG, lower, lower + 9)}, KEYS)
    column = {"n": "col", "p": ["c0"], "t": "long"}
    keys = rng.integers(0, 10 * KEYS, KEYS).tolist()
    document = json.dumps([{"n": "in", "a": column, "t": "long", "v": keys, "null": False}])
    conjuncts = decode_conjuncts(json.loads(document))
    segments = [Segment(slice(0, KEYS), statistics)]
    return {
        "read": lambda: decode_conjuncts(json.loads(document)),
        "decide": lambda: decide(conjuncts, segments, KEYS),
        "both": lambda: decide(decode_conjuncts(json.loads(document)), segments, KEYS),
    }


def best(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return CPU milliseconds by case, the minimum of interleaved rounds."""
    figures_of = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            started = time.process_time()
            call()
            figures_of[name] = min(figures_of[name], time.process_time() - started)
    return {name: 1000 * seconds for name, seconds in figures_of.items()}


def measure(size: int) -> dict[str, float]:
    """Return CPU milliseconds by case."""
    calls, rounds = cases(size), _ROUNDS if size <= 1_000_000 else 5
    again = best({"range again": calls["range"]}, rounds)
    return best(calls, rounds) | again


def table() -> list[str]:
    """Return the figures as a Markdown table."""
    names = ["range", "range again", "numpy", "pyarrow", "ten conjuncts", "IN 1000"]
    lines = [
        "| containers | " + " | ".join(names) + " | range / numpy |",
        "|" + "---:|" * (len(names) + 2),
    ]
    for size in SIZES:
        figures_of = measure(size)
        cells = [f"{figures_of[name]:.2f}" if name in figures_of else "" for name in names]
        ratio = figures_of["range"] / figures_of["numpy"]
        lines.append(f"| {size:,} | " + " | ".join(cells) + f" | {ratio:.1f} |")
    for title, calls in (
        (f"{CONJUNCTS} conjuncts, {FILES:,} files", fifty_conjuncts()),
        (f"IN of {KEYS:,} keys, {KEYS:,} files", long_lists()),
    ):
        figures = ", ".join(f"{name} {ms:.1f}" for name, ms in best(calls, _ROUNDS).items())
        lines += ["", f"{title}: {figures}"]
    return lines
