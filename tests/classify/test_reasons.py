"""Reasons that no query of Spark reaches: of partition transforms, and of constants that Spark casts.

tests/spark/test_reasons.py has all the others.
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
class Said:
    """A predicate, what is said of it, and what becomes of it with the fix applied."""

    code: str
    before: Expr
    was: Pushdown
    fix: str
    after: Expr
    table: Capabilities
    becomes: Pushdown


SAID = [
    Said(
        "NOT_ON_PARTITION_BOUNDARY",
        compare("<", ts, 10 * DAY + 7),
        Pushdown.INEXACT,
        "compare ts with the start of a partition",
        compare("<", ts, 10 * DAY),
        TABLE,
        Pushdown.EXACT,
    ),
    Said(
        "TRANSFORM_IS_NOT_ORDERED",
        compare(">", user, 5),
        Pushdown.UNSUPPORTED,
        "build the statistics index: tamis.index(spark, path).build()",
        compare(">", user, 5),
        Capabilities(statistics=["day", "id"], partition_spec=SPEC),
        Pushdown.INEXACT,
    ),
    Said(
        "CONSTANTS_NOT_COMPARABLE",
        Compare(Comparison.EQUAL, day, Literal("x", STRING)),
        Pushdown.UNSUPPORTED,
        "cast the constant to the type of the column",
        compare("=", day, 9000),
        TABLE,
        Pushdown.INEXACT,
    ),
]


@pytest.mark.parametrize("said", SAID, ids=[each.code for each in SAID])
def test_reason(said: Said) -> None:
    before = classify(said.before, TABLE)
    assert before.pushdown is said.was
    assert before.reason is not None
    assert (before.reason.code, before.reason.fix) == (said.code, said.fix)
    after = classify(said.after, said.table)
    assert after.pushdown is said.becomes
    assert after.reason is None or after.reason.code != said.code
