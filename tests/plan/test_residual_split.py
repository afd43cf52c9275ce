"""When scanning fully matching files without the filter pays off."""

from __future__ import annotations

import pytest

from tamis.expr.nodes import Call, Column, Compare, Comparison, Expr, Literal, Or
from tamis.expr.types import BOOLEAN, DATE, LONG, STRING
from tamis.plan.residual_split import saved_by_splitting

COMMENT = Column(("comment",), STRING)
ID = Column(("id",), LONG)
LATE = Compare(Comparison.GREATER, ID, Literal(5, LONG))
HAS_FOO = Call("Contains", (COMMENT, Literal("foo", STRING)), (), BOOLEAN)
REGEX = Call("RLike", (COMMENT, Literal("^A.*o", STRING)), (), BOOLEAN)
DAY_TEXT = Call("DateFormatClass", (Column(("d",), DATE), Literal("yyyy", STRING)), (), STRING)
IN_1995 = Compare(Comparison.EQUAL, DAY_TEXT, Literal("1995", STRING))

# Residual, types of columns that only it needs, output columns, whether splitting can pay off.
TABLE: list[tuple[list[Expr], list[str], int, bool]] = [
    ([LATE], [], 1, False),
    ([LATE], ["long"], 1, False),
    ([Or((LATE, HAS_FOO))], [], 1, False),
    ([Or((LATE, HAS_FOO))], ["string"], 1, True),
    ([Or((HAS_FOO, LATE))], [], 1, True),
    ([Or((HAS_FOO, LATE))], [], 10, False),
    ([REGEX], [], 10, True),
    ([IN_1995], ["date"], 3, True),
    ([], ["string"], 0, True),
]


@pytest.mark.parametrize("line", range(len(TABLE)))
def test_splitting_pays_off_by_residual(line: int) -> None:
    residual, freed, columns, pays = TABLE[line]
    assert (saved_by_splitting(10_000_000, 0, residual, freed, columns) > 0) == pays


def test_matching_rows_save_and_other_rows_cost() -> None:
    def saved(rows: int, others: int) -> float:
        return saved_by_splitting(rows, others, [REGEX], ["string"], 1)

    assert saved(2000, 0) == 2 * saved(1000, 0) > 0
    assert saved(1000, 1000) < saved(1000, 0)
    assert saved(0, 1000) < 0
