"""The share of random predicates that is sent, compared with Query Farm's connector for Spark.

    python tests/remote/vgi_forms.py --count 20000

The predicates are those of the random generator that all differential tests use. The other
translator is a model, not the program: a tree over one column, without IN, NOT or prefixes. Where
these rules leave a case open, the model sends it: every comparison of the column with a constant,
also with NULL, IS NULL and IS NOT NULL, a BOOLEAN column, and AND and OR of these.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from random import Random

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root), str(root / "python")]

from tamis.expr.nodes import (
    And,
    Column,
    Compare,
    Expr,
    IsNull,
    Literal,
    Not,
    Or,
    columns_of,
)
from tamis.remote.vgi.filters.sendable_filters import sendable
from tests.differential.generate import random_case, random_predicate
from tests.remote.vgi_filters import table_of


def is_sent_by_others(predicate: Expr) -> bool:
    """Return whether the other connector sends a conjunct, which it never does exactly."""
    return len(columns_of(predicate)) == 1 and _has_form(predicate)


def _has_form(predicate: Expr) -> bool:
    match predicate:
        case And(parts=parts) | Or(parts=parts):
            return all(map(_has_form, parts))
        case Compare(left=left, right=right):
            return {type(left), type(right)} == {Column, Literal}
        case IsNull(child=Column()) | Not(child=IsNull(child=Column())):
            return True
        case Column():
            return True
    return False


def conjuncts(predicate: Expr) -> list[Expr]:
    """Return what Spark hands over for a filter: the operands of its top-level AND."""
    if isinstance(predicate, And):
        return [each for part in predicate.parts for each in conjuncts(part)]
    return [predicate]


def counted(seed: int, count: int) -> Counter[str]:
    """Return how many conjuncts are sent: by others, by tamis, and by tamis exactly."""
    random = Random(seed)
    counts = Counter[str]()
    while counts["all"] < count:
        case = random_case(random)
        schema = table_of(case.columns, []).schema
        for _ in range(8):
            for each in conjuncts(random_predicate(random, case.columns)):
                sent = sendable(each, schema)
                counts["all"] += 1
                counts["others"] += is_sent_by_others(each)
                counts["tamis"] += sent is not None
                counts["exactly"] += sent is not None and sent.is_exact
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20_000)
    options = parser.parse_args()
    print(dict(counted(options.seed, options.count)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
