"""Reasons that no Spark query reaches, for partition transforms and for constants Spark casts.

tests/spark/test_reasons.py has all other reasons.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tamis import Capabilities, PartitionField, Pushdown, classify
from tamis.expr.nodes import Column, Compare, Comparison, Expr, Literal
from tamis.expr.types import DATE, LONG, STRING, TIMESTAMP
from tests.cases.case import compare

ts = Column(("ts",), TIMESTAMP)
user = Column(("id",), LONG)
day = Column(("day",), DATE)

DAY = 86_400_000_000
SPEC = [PartitionField("ts", "day", "ts_day"), PartitionField("id", "bucket[16]", "id_bucket")]
TABLE = Capabilities(statistics=["day"], partition_spec=SPEC)


@dataclass(frozen=True)
class Case:
    """A predicate, its class and fix, and the predicate, its class and reason after the fix."""

    code: str
    before: Expr
    was: Pushdown
    fix: str
    after: Expr
    table: Capabilities
    becomes: Pushdown
    reason_after: str | None


CASES = [
    Case(
        "NOT_ON_PARTITION_BOUNDARY",
        compare("<", ts, 10 * DAY + 7),
        Pushdown.INEXACT,
        "use < or >= with the first value of a partition",
        compare("<", ts, 10 * DAY),
        TABLE,
        Pushdown.EXACT,
        None,
    ),
    Case(
        "PARTITION_VALUE_IS_COARSE",
        compare("=", user, 5),
        Pushdown.INEXACT,
        "build the statistics index: tamis.index(spark, path).build()",
        compare("=", user, 5),
        Capabilities(statistics=["day", "id"], partition_spec=SPEC),
        Pushdown.INEXACT,
        "RANGES_OVERLAP",
    ),
    Case(
        "PARTITION_VALUE_PROVES_NOTHING",
        compare(">", user, 5),
        Pushdown.UNSUPPORTED,
        "build the statistics index: tamis.index(spark, path).build()",
        compare(">", user, 5),
        Capabilities(statistics=["day", "id"], partition_spec=SPEC),
        Pushdown.INEXACT,
        "RANGES_OVERLAP",
    ),
    Case(
        "CONSTANTS_NOT_COMPARABLE",
        Compare(Comparison.EQUAL, day, Literal("x", STRING)),
        Pushdown.UNSUPPORTED,
        "cast the constant to the type of the column",
        compare("=", day, 9000),
        TABLE,
        Pushdown.INEXACT,
        "RANGES_OVERLAP",
    ),
]


@pytest.mark.parametrize("example", CASES, ids=[each.code for each in CASES])
def test_reason_and_its_fix(example: Case) -> None:
    before = classify(example.before, TABLE)
    assert before.pushdown is example.was
    assert before.reason is not None
    assert (before.reason.code, before.reason.fix) == (example.code, example.fix)
    after = classify(example.after, example.table)
    assert after.pushdown is example.becomes
    assert (after.reason and after.reason.code) == example.reason_after
