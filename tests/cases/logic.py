"""AND, OR, NOT and constants, in three-valued logic."""

from __future__ import annotations

from tamis.expr.nodes import And, Expr, Not, Opaque, Or
from tests.cases.case import FALSE, TRUE, UNKNOWN, Case, compare, is_not_null, is_null
from tests.cases.comparison import i

ANYTHING = Opaque("f(i)", (("i",),))


def is_less(value: int) -> Expr:
    return compare("<", i, value)


CASES = (
    Case(
        i,
        data=(3, 7),
        hits=(
            TRUE,
            ANYTHING,
            Not(ANYTHING),
            And((is_less(5), ANYTHING)),
            Or((is_less(3), ANYTHING)),
            Not(And((is_less(8), ANYTHING))),
            Or((is_less(3), compare("=", i, 7))),
        ),
        misses=(
            FALSE,
            UNKNOWN,
            Not(TRUE),
            Not(UNKNOWN),
            And((is_less(3), ANYTHING)),
            And((is_less(5), UNKNOWN)),
            Or((is_less(3), FALSE, UNKNOWN)),
            Not(Or((is_less(8), ANYTHING))),
            Not(is_less(8)),
            And((is_less(5), compare(">", i, 7))),
        ),
        full=(
            TRUE,
            Or((is_less(8), ANYTHING)),
            Or((is_less(8), UNKNOWN)),
            Not(And((is_less(3), ANYTHING))),
            And((is_less(8), compare(">", i, 2))),
            And(()),
            Not(Or(())),
        ),
    ),
    # NOT of NULL is NULL: a NULL row does not match and prevents "full".
    Case(
        i,
        data=(3, None),
        hits=(
            is_less(5),
            Not(is_less(2)),
            Or((is_less(5), is_null(i))),
            # In truth full, but the operands are treated as independent.
            Or((is_null(i), is_not_null(i))),
        ),
        misses=(Not(is_less(5)), And((is_less(5), is_less(3)))),
    ),
)
