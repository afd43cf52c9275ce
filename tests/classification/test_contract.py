"""Classification as exact, inexact or unsupported, and its composition."""

from __future__ import annotations

import pytest

from tamis import Capabilities, PartitionField, Pushdown, classify
from tamis.expr.nodes import (
    And,
    Column,
    Compare,
    Comparison,
    Expr,
    IsNull,
    Literal,
    Not,
    Opaque,
    Or,
)
from tamis.expr.types import INTEGER, LONG, TIMESTAMP
from tests.cases.case import FALSE, TRUE, UNKNOWN, compare, is_in, not_in

year = Column(("year",), INTEGER)
price = Column(("price",), LONG)
hidden = Column(("hidden",), LONG)
bucketed = Column(("id",), LONG)
ts = Column(("ts",), TIMESTAMP)

EXACT = compare("=", year, 1995)
INEXACT = compare("<", price, 5)
OTHER = compare(">", price, 1)
UNSUPPORTED = Opaque("f(x)", (("x",),))
NEVER = And((compare("<", hidden, 5), compare(">", hidden, 10)))

TABLE = Capabilities(
    statistics=["price"],
    partition_spec=[
        PartitionField("year", "identity", "year"),
        PartitionField("id", "bucket[16]", "id_bucket"),
        PartitionField("ts", "day", "ts_day"),
    ],
)
DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("expr", "pushdown", "pushed"),
    [
        (EXACT, Pushdown.EXACT, EXACT),
        (INEXACT, Pushdown.INEXACT, INEXACT),
        (UNSUPPORTED, Pushdown.UNSUPPORTED, None),
        # AND: unsupported parts are removed from the pushed predicate.
        (And((EXACT, EXACT)), Pushdown.EXACT, And((EXACT, EXACT))),
        (And((EXACT, INEXACT)), Pushdown.INEXACT, And((EXACT, INEXACT))),
        (And((EXACT, UNSUPPORTED)), Pushdown.INEXACT, EXACT),
        (And((INEXACT, UNSUPPORTED)), Pushdown.INEXACT, INEXACT),
        (And((UNSUPPORTED, INEXACT, EXACT)), Pushdown.INEXACT, And((INEXACT, EXACT))),
        (And((UNSUPPORTED, UNSUPPORTED)), Pushdown.UNSUPPORTED, None),
        # OR: every part is needed.
        (Or((EXACT, EXACT)), Pushdown.EXACT, Or((EXACT, EXACT))),
        (Or((EXACT, INEXACT)), Pushdown.INEXACT, Or((EXACT, INEXACT))),
        (Or((EXACT, UNSUPPORTED)), Pushdown.UNSUPPORTED, None),
        (Or((INEXACT, UNSUPPORTED)), Pushdown.UNSUPPORTED, None),
        (Or((And((INEXACT, UNSUPPORTED)), OTHER)), Pushdown.INEXACT, Or((INEXACT, OTHER))),
        (Or((And((EXACT, UNSUPPORTED)), EXACT)), Pushdown.INEXACT, Or((EXACT, EXACT))),
        (
            And((Or((And((INEXACT, UNSUPPORTED)), OTHER)), Or((EXACT, UNSUPPORTED)))),
            Pushdown.INEXACT,
            Or((INEXACT, OTHER)),
        ),
        (
            Or((And((Or((And((EXACT, UNSUPPORTED)), OTHER)), UNSUPPORTED)), INEXACT)),
            Pushdown.INEXACT,
            Or((EXACT, OTHER, INEXACT)),
        ),
        # A predicate that no row satisfies keeps no file, whatever is known about the column.
        (NEVER, Pushdown.EXACT, NEVER),
        (And((NEVER, UNSUPPORTED)), Pushdown.EXACT, None),
        (Or((And((NEVER, UNSUPPORTED)), INEXACT)), Pushdown.INEXACT, INEXACT),
        (Or((NEVER, UNSUPPORTED)), Pushdown.UNSUPPORTED, None),
        (Not(Or((compare(">=", hidden, 5), compare("<=", hidden, 10)))), Pushdown.EXACT, None),
        # NOT: never over a weakened predicate.
        (Not(UNSUPPORTED), Pushdown.UNSUPPORTED, None),
        (Not(And((INEXACT, UNSUPPORTED))), Pushdown.UNSUPPORTED, None),
        (Not(And((EXACT, UNSUPPORTED))), Pushdown.UNSUPPORTED, None),
        (Not(Or((And((INEXACT, UNSUPPORTED)), OTHER))), Pushdown.INEXACT, compare("<=", price, 1)),
        (Not(Not(And((INEXACT, UNSUPPORTED)))), Pushdown.INEXACT, INEXACT),
        (Not(Or((INEXACT, UNSUPPORTED))), Pushdown.INEXACT, compare(">=", price, 5)),
        (Not(INEXACT), Pushdown.INEXACT, compare(">=", price, 5)),
        (Not(EXACT), Pushdown.EXACT, Not(EXACT)),
        (Not(And((EXACT, INEXACT))), Pushdown.INEXACT, None),
    ],
)
def test_composition_of_classes(expr: Expr, pushdown: Pushdown, pushed: Expr | None) -> None:
    classified = classify(expr, TABLE)
    assert classified.pushdown is pushdown
    if pushed is not None:
        assert classified.pushed == pushed
    # Predicates that are not exact remain in the residual as a whole.
    assert classified.residual == (None if pushdown is Pushdown.EXACT else expr)
    assert (classified.reason is None) == (pushdown is Pushdown.EXACT)
    assert (classified.pushed is None) == (pushdown is Pushdown.UNSUPPORTED)


class TestFaultsOfTheSampleCode:
    """Faults of the sample code that explained the contract. Each test failed for that code."""

    def test_and_is_not_treated_as_a_comparison(self) -> None:
        """The sample's case for binary expressions comes first and hides those of AND and OR."""
        assert classify(And((EXACT, EXACT)), TABLE).pushdown is Pushdown.EXACT
        assert classify(Or((EXACT, INEXACT)), TABLE).pushdown is Pushdown.INEXACT

    def test_exact_and_unsupported_is_not_exact(self) -> None:
        """The sample gives an AND the class of the remaining part, so the residual would be lost."""
        assert classify(And((EXACT, UNSUPPORTED)), TABLE).pushdown is Pushdown.INEXACT
        assert classify(And((UNSUPPORTED, EXACT)), TABLE).residual is not None

    def test_not_over_a_weakened_and_is_unsupported(self) -> None:
        """The sample negates the pushed predicate: NOT a loses rows where a is true, f(x) false."""
        assert classify(Not(And((INEXACT, UNSUPPORTED))), TABLE).pushed is None

    def test_partition_column_needs_no_statistics(self) -> None:
        """The sample asks for statistics before it checks the partition spec."""
        assert (
            classify(EXACT, Capabilities(partition_spec=TABLE.partition_spec)).pushdown == "exact"
        )

    def test_constant_on_the_left_is_supported(self) -> None:
        reversed_sides = Compare(Comparison.LESS, Literal(0, TIMESTAMP), ts)  # ts > 0
        assert classify(reversed_sides, TABLE).pushdown is Pushdown.INEXACT
        reversed_sides = Compare(Comparison.GREATER, Literal(DAY, TIMESTAMP), ts)  # ts < a day
        assert classify(reversed_sides, TABLE).pushdown is Pushdown.EXACT


@pytest.mark.parametrize(
    ("expr", "pushdown", "code"),
    [
        (compare("=", hidden, 5), Pushdown.UNSUPPORTED, "NO_STATISTICS"),
        (IsNull(hidden), Pushdown.UNSUPPORTED, "NO_NULL_COUNTS"),
        (IsNull(price), Pushdown.INEXACT, "RANGES_OVERLAP"),
        (IsNull(year), Pushdown.EXACT, None),
        (Not(IsNull(bucketed)), Pushdown.EXACT, None),
        (compare("=", bucketed, 5), Pushdown.INEXACT, "PARTITION_VALUE_IS_COARSE"),
        (is_in(bucketed, 5, 6), Pushdown.INEXACT, "PARTITION_VALUE_IS_COARSE"),
        (compare(">", bucketed, 5), Pushdown.UNSUPPORTED, "PARTITION_VALUE_PROVES_NOTHING"),
        (not_in(bucketed, 5), Pushdown.UNSUPPORTED, "PARTITION_VALUE_PROVES_NOTHING"),
        (is_in(year, 1, 2, null=True), Pushdown.EXACT, None),
        (not_in(year, 1, 2), Pushdown.EXACT, None),
        (compare("<", ts, DAY), Pushdown.EXACT, None),
        (compare("<", ts, DAY + 1), Pushdown.INEXACT, "NOT_ON_PARTITION_BOUNDARY"),
        (compare("<=", ts, DAY - 1), Pushdown.EXACT, None),
        (compare("<=", ts, DAY), Pushdown.INEXACT, "NOT_ON_PARTITION_BOUNDARY"),
        (compare(">", ts, DAY), Pushdown.INEXACT, "NOT_ON_PARTITION_BOUNDARY"),
        # No constant in a partition up to 1970 makes these exact.
        (compare("<", ts, 0), Pushdown.INEXACT, "PARTITION_VALUE_IS_COARSE"),
        (compare(">=", ts, 1 - DAY), Pushdown.INEXACT, "PARTITION_VALUE_IS_COARSE"),
        (compare("=", ts, DAY), Pushdown.INEXACT, "PARTITION_VALUE_IS_COARSE"),
        (Not(compare("<=>", year, 5)), Pushdown.EXACT, None),
        (compare("=", year, None), Pushdown.EXACT, None),
        (Compare(Comparison.LESS, price, price), Pushdown.INEXACT, "COLUMNS_ARE_COMPARED"),
        (Compare(Comparison.LESS, year, year), Pushdown.EXACT, None),
        (Compare(Comparison.LESS, price, hidden), Pushdown.UNSUPPORTED, "NO_STATISTICS"),
        (Compare(Comparison.LESS, price, Literal("5", ts.type)), Pushdown.UNSUPPORTED, None),
        (TRUE, Pushdown.EXACT, None),
        (FALSE, Pushdown.EXACT, None),
        (UNKNOWN, Pushdown.EXACT, None),
        (UNSUPPORTED, Pushdown.UNSUPPORTED, "EXPRESSION_NOT_UNDERSTOOD"),
        (price, Pushdown.UNSUPPORTED, "EXPRESSION_NOT_UNDERSTOOD"),
    ],
)
def test_leaf_predicate_has_its_pushdown_and_reason(
    expr: Expr, pushdown: Pushdown, code: str | None
) -> None:
    classified = classify(expr, TABLE)
    assert classified.pushdown is pushdown
    if code is not None:
        assert classified.reason is not None
        assert classified.reason.code == code
