"""Sweep the bounds of random calls over random rows, against the row functions of this folder.

    python tests/differential/row_sweep.py --seed 1 --count 20000

The sweep without Spark: every value that tests/differential/calls.py computes for a row must lie
within the bounds of its container. Calls come from random_calls.py, which includes every table of
cases. The exit status is 1 if a value is outside.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root), str(root / "python")]

from tamis.expr.nodes import Call, Column, Expr, type_of
from tamis.expr.sql import to_sql
from tamis.expr.types import DataType
from tamis.files.table import ArrowStatistics
from tests.differential.claims import claim_of, contradictions, statistics_of
from tests.differential.generate import POOLS
from tests.differential.intervals import DRAW
from tests.differential.random_calls import (
    calls_in,
    calls_of_tables,
    over,
    random_call,
    random_test,
)
from tests.differential.rows import row_value

CONTAINERS, ROWS = 24, 3
_WIDE = Context(prec=400)
_PATH = ("a",)
#: Types that use the values of a kind of tests/differential/intervals.py.
_KINDS = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"} | {
    name: name for name in ("float", "double", "date", "timestamp", "timestamp_ntz", "string")
}


@dataclass(slots=True)
class Findings:
    """The results of a sweep over rows."""

    wrong: list[str] = field(default_factory=list)
    checks: int = 0
    functions: set[str] = field(default_factory=set)


Drawn = Mapping[str, Sequence[tuple[Expr, DataType]]]


def drawn(seed: int, count: int, most: int | None = None) -> Drawn:
    """Return random calls with the type of their column, by the name of their outermost function.

    Args:
        seed: The seed of the calls.
        count: How many calls to draw in addition to those of the tables of cases.
        most: How many calls to keep for each function.
    """
    random = Random(seed)
    calls_of: dict[str, list[tuple[Expr, DataType]]] = {}
    for call, data_type in _calls_of_tables():
        calls_of.setdefault(call.name, []).append((call, data_type))
    for _ in range(count):
        data_type = random.choice(list(POOLS))
        draw = random_test if random.random() < 0.15 else random_call
        expr = draw(random, Column(_PATH, data_type))
        if isinstance(expr, Call):
            calls_of.setdefault(expr.name, []).append((expr, data_type))
    return {name: calls[:most] for name, calls in sorted(calls_of.items())}


def run(seed: int, calls: Sequence[tuple[Expr, DataType]]) -> Findings:
    """Compare the bounds of calls with their values on random rows. The seed decides the rows."""
    random = Random(seed)
    findings = Findings()
    for call, data_type in calls:
        check(random, call, data_type, findings)
    return findings


def _calls_of_tables() -> Iterator[tuple[Call, DataType]]:
    for data_type, calls in calls_of_tables().items():
        for call in calls:
            for _ in range(8):
                yield over(call, Column(_PATH, data_type)), data_type


def check(random: Random, call: Expr, data_type: DataType, findings: Findings) -> None:
    """Compare the claims about a call over column `a` with its values on the rows."""
    # A single container may take another path than one of several.
    count = random.choice([1, CONTAINERS, CONTAINERS])
    containers = [random_container(random, data_type) for _ in range(count)]
    named = [[{"a": row[_PATH]} for row in rows] for rows in containers]
    table = statistics_of(random, {"a": POOLS[data_type][1]}, named)
    result = type_of(call)
    assert result is not None
    claim = claim_of(to_sql(call), result.name, call, ArrowStatistics(table), count)
    if claim is None:
        return
    places, values, rows_of = [], [], []
    for ordinal, rows in enumerate(containers):
        if not claim.says_anything[ordinal]:
            continue
        for row in rows:
            places.append(ordinal)
            values.append(_as_bound(row_value(call, row), result))
            rows_of.append(row)
    if places:
        findings.functions.update(each.name for each in calls_in(call))
    findings.checks += len(places)
    for place in contradictions(claim, places, values):
        given = {"a": rows_of[place][_PATH]}
        findings.wrong.append(claim.describe(places[place], values[place], given))


def _as_bound(calls_of: Any, data_type: DataType) -> Any:
    """Convert the value to the form of bounds: strings as bytes, decimals with all digits."""
    if isinstance(calls_of, str):
        return calls_of.encode("utf-8", "surrogatepass")
    if isinstance(calls_of, Decimal):
        return calls_of.quantize(Decimal(1).scaleb(-(data_type.scale or 0)), context=_WIDE)
    return calls_of


def random_container(random: Random, data_type: DataType) -> list[dict[tuple[str, ...], Any]]:
    """Return rows of a column `a`, often near values where functions break."""
    kind = _KINDS.get(data_type.name)
    if kind is not None and random.random() < 0.6:
        values = DRAW[kind](random)
    else:
        values = random.choices(POOLS[data_type][0], k=random.choice([1, 1, 2, 3]))
    nulls = random.choice([0.0, 0.0, 0.3, 1.0 if random.random() < 0.2 else 0.0])
    return [
        {_PATH: None if random.random() < nulls else random.choice(values)} for _ in range(ROWS)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20_000)
    options = parser.parse_args()
    checks = wrong = 0
    for name, calls in drawn(options.seed, options.count).items():
        findings = run(options.seed, calls)
        for text in findings.wrong[:8]:
            print(f"{name}: {text}")
        checks += findings.checks
        wrong += len(findings.wrong)
    print(f"seed {options.seed}: {checks} values checked, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
