"""Check random verdicts against the rows themselves.

    python tests/differential/verdicts.py --seed 1 --count 100000

A verdict about a file is wrong if it is "none" and a row satisfies the predicate, or "all" and a
row does not. The command prints wrong verdicts, then the number of verdicts of each kind: a check that
only ever gives "some" proves nothing. The exit status is 1 if a verdict was wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root), str(root / "python")]

import pyarrow as pa

from tamis.expr.nodes import Expr
from tamis.expr.sql import to_sql
from tamis.files.verdicts import evaluate
from tests.differential.generate import Case, random_case, random_predicate
from tests.differential.rows import row_value

PREDICATES_PER_CASE = 8


@dataclass(frozen=True, slots=True)
class Wrong:
    """A verdict that a row contradicts."""

    predicate: Expr
    verdict: str
    case: Case
    ordinal: int

    def __str__(self) -> str:
        # As text: Python has no dates before the year 1.
        columns = self.case.files.slice(self.ordinal, 1).columns
        cells = {
            name: column.cast(pa.string()).to_pylist()[0]
            if "binary" not in str(column.type)
            else column.to_pylist()[0]
            for name, column in zip(self.case.files.column_names, columns, strict=True)
        }
        rows = [dict(row) for row in self.case.containers[self.ordinal]]
        return f"{self.verdict}: {to_sql(self.predicate)}\n  rows {rows}\n  statistics {cells}"


def check(predicate: Expr, case: Case, counts: Counter[str]) -> Iterator[Wrong]:
    verdicts = evaluate(predicate, case.files, case.partition_spec).to_pylist()
    for ordinal, (verdict, rows) in enumerate(zip(verdicts, case.containers, strict=True)):
        counts[verdict] += 1
        if verdict == "some":
            continue
        for row in rows:
            if (row_value(predicate, row) is True) != (verdict == "all"):
                yield Wrong(predicate, verdict, case, ordinal)
                break


def run(seed: int, count: int) -> tuple[list[Wrong], Counter[str]]:
    """Check at least `count` verdicts."""
    random = Random(seed)
    counts: Counter[str] = Counter()
    wrong: list[Wrong] = []
    while counts.total() < count:
        case = random_case(random)
        for _ in range(PREDICATES_PER_CASE):
            wrong.extend(check(random_predicate(random, case.columns), case, counts))
    return wrong, counts


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100_000)
    options = parser.parse_args()
    wrong, counts = run(options.seed, options.count)
    for each in wrong[:20]:
        print(each)
    print(f"{counts.total()} verdicts, {len(wrong)} wrong: {dict(counts)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
