"""Functions alone: the cost of bounding them over statistics in memory.

CPU time of one thread over a million files, the minimum of interleaved rounds, evaluated in blocks
like a scan.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from bench.planning.resident import Resident
from tamis.expr.nodes import Call, Column, Compare, Comparison, Expr, Literal, Value
from tamis.expr.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
)
from tamis.files.segments import Segment
from tamis.plan.scan_decision import decide

SIZE = 1_000_000
_ROUNDS = 5
_DAY = 86_400_000_000


def _resident(size: int) -> Resident:
    """Return bounds of one column of each type, clustered."""
    ordinals = np.arange(size)
    moments = ordinals * (20_000 * _DAY // size)
    names = [f"Customer#{ordinal // 2:09d}".encode() for ordinal in range(size + 2)]
    lower = pa.array(names[:size], pa.large_binary())
    upper = pa.array(names[2 : size + 2], pa.large_binary())
    days = moments // _DAY
    ends = {
        "ts": (TIMESTAMP, moments, moments + _DAY // 2),
        "day": (DATE, days, days + 1),
        "l": (LONG, ordinals * 10, ordinals * 10 + 15),
        "d": (DOUBLE, ordinals * 1.5, ordinals * 1.5 + 9),
        "s": (STRING, lower, upper),
        "one": (STRING, lower, lower),
    }
    return Resident(ends, size)


def _predicates() -> dict[str, Expr]:
    ts, day, long = (Column((n,), t) for n, t in (("ts", TIMESTAMP), ("day", DATE), ("l", LONG)))
    double, s, one = Column(("d",), DOUBLE), Column(("s",), STRING), Column(("one",), STRING)

    def call(name: str, data_type: DataType, *arguments: Expr | Value, zone: str = "UTC") -> Call:
        types = {int: INTEGER, float: DOUBLE, str: STRING}
        nodes = tuple(
            Literal(each, types[type(each)]) if type(each) in types else each  # type: ignore[arg-type]
            for each in arguments
        )
        options = (("timeZoneId", zone), ("evalMode", "LEGACY"), ("escapeChar", "\\"))
        return Call(name, nodes, options, data_type)  # type: ignore[arg-type]

    def is_(left: Call, value: Value) -> Expr:
        return Compare(Comparison.EQUAL, left, Literal(value, left.type))

    city = "America/New_York"
    return {
        "year(ts)": is_(call("Year", INTEGER, call("Cast", DATE, ts)), 1995),
        "year(ts), New York": is_(call("Year", INTEGER, call("Cast", DATE, ts, zone=city)), 1995),
        "month(day)": is_(call("Month", INTEGER, day), 5),
        "date_trunc('MONTH', ts)": is_(call("TruncTimestamp", TIMESTAMP, "MONTH", ts), 0),
        "hour(ts)": is_(call("Hour", INTEGER, ts), 5),
        "add_months(day, 1)": is_(call("AddMonths", DATE, day, 1), 9_000),
        "CAST(day AS STRING)": is_(call("Cast", STRING, day), "1995-01-01"),
        "CAST(l AS STRING)": is_(call("Cast", STRING, long), "5000"),
        "l + 1": is_(call("Add", LONG, long, Literal(1, LONG)), 5_000),
        "l % 7": is_(call("Remainder", LONG, long, Literal(7, LONG)), 5),
        "d / 3": is_(call("Divide", DOUBLE, double, 3.0), 5.0),
        "substring(s, 1, 12)": is_(call("Substring", STRING, s, 1, 12), "Customer#000"),
        "startswith(s, …)": call("StartsWith", BOOLEAN, s, "Customer#0001"),
        "contains(s, …)": call("Contains", BOOLEAN, s, "#0001"),
        "contains(s, …), single values": call("Contains", BOOLEAN, one, "#0001"),
        "concat(s, 'm')": is_(call("Concat", STRING, s, "m"), "Customer#000000100m"),
        "upper(s)": is_(call("Upper", STRING, s), "CUSTOMER#000000100"),
        "upper(s), single values": is_(call("Upper", STRING, one), "CUSTOMER#000000100"),
        "trim(s)": is_(call("StringTrim", STRING, s), "Customer#000000100"),
        "length(s)": is_(call("Length", INTEGER, s), 18),
        "coalesce(l, 0)": is_(call("Coalesce", LONG, long, Literal(0, LONG)), 5_000),
    }


def cases(size: int) -> dict[str, Callable[[], object]]:
    """Return the measured calls by name."""
    segments = [Segment(slice(0, size), _resident(size))]

    def decided(predicate: Expr) -> Callable[[], object]:
        return lambda: decide([predicate], segments, size)

    return {name: decided(predicate) for name, predicate in _predicates().items()}


def measure(size: int = SIZE, rounds: int = _ROUNDS) -> dict[str, float]:
    """Return CPU milliseconds by case."""
    calls = cases(size)
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            started = time.process_time()
            call()
            best[name] = min(best[name], time.process_time() - started)
    return {name: 1000 * seconds for name, seconds in best.items()}


def table() -> list[str]:
    """Return the figures as a Markdown table."""
    figures = measure()
    return [
        f"| function of {SIZE:,} files | ms |",
        "|---|---:|",
        *(f"| `{name}` | {milliseconds:.0f} |" for name, milliseconds in figures.items()),
    ]


if __name__ == "__main__":
    print("\n".join(table()))
