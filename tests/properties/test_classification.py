"""Laws of classification, for every predicate and every set of capabilities."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tamis import Capabilities, Pushdown, classify
from tamis.evaluation import verdicts
from tamis.expr.nodes import And, Expr, Not, Opaque, Or
from tamis.expr.rewrites import TRUE, simplify
from tamis.files.table import ArrowStatistics
from tests.differential.generate import Case, random_case, random_predicate
from tests.differential.rows import row_value

randoms = st.randoms(use_true_random=False)
NONE, SOME, ALL = range(3)


def random_capabilities(random: Random, case: Case) -> Capabilities:
    known = Capabilities.of_files(case.files, case.partition_spec)
    some = [name for name in sorted(known.statistics) if random.random() < 0.7]
    return Capabilities(some, None if random.random() < 0.5 else (), case.partition_spec)


def with_opaque(random: Random, case: Case) -> Expr:
    """Return a predicate with parts that only the engine understands."""
    parts = [random_predicate(random, case.columns, 2) for _ in range(3)]
    opaque = Opaque(random.choice(["f(a)", "g(a)"]), (case.columns[0].path,))
    first = And((parts[0], opaque)) if random.random() < 0.7 else Or((parts[0], opaque))
    nodes = [first, *parts[1:]]
    random.shuffle(nodes)
    whole: Expr = (Or if random.random() < 0.6 else And)(tuple(nodes))
    return Not(whole) if random.random() < 0.2 else whole


@given(randoms)
def test_pushed_predicate_is_implied_by_the_filter(random: Random) -> None:
    _check_pushed_predicate(random)


def test_random_predicates_are_pushed() -> None:
    """Check that the property test compares enough rows to be meaningful."""
    assert sum(_check_pushed_predicate(Random(seed)) for seed in range(100)) > 100


def _check_pushed_predicate(random: Random) -> int:
    """Return the number of rows that pass the filter and were compared."""
    case = random_case(random, containers=4)
    predicate = with_opaque(random, case)
    classified = classify(predicate, random_capabilities(random, case))
    assert (classified.pushed is None) == (classified.pushdown is Pushdown.UNSUPPORTED)
    assert (classified.residual is None) == (classified.pushdown is Pushdown.EXACT)
    if classified.pushed is None:
        return 0
    passing = 0
    for row in (row for rows in case.containers for row in rows):
        if row_value(predicate, row) is True:
            assert row_value(classified.pushed, row) is True, (predicate, classified.pushed, row)
            passing += 1
    # The pushed predicate prunes no more files than the predicate itself.
    statistics = ArrowStatistics(case.files, case.partition_spec)
    weaker, whole = verdicts(classified.pushed, statistics), verdicts(predicate, statistics)
    assert (whole[weaker == NONE] == NONE).all()
    return passing


@given(randoms)
def test_and_or_not_keep_the_pushdown_of_their_parts(random: Random) -> None:
    case = random_case(random, containers=1)
    capabilities = random_capabilities(random, case)
    parts = tuple(random_predicate(random, case.columns, 1) for _ in range(2))
    each = [classify(part, capabilities).pushdown for part in parts]
    both = classify(And(parts), capabilities)
    either = classify(Or(parts), capabilities)
    if all(pushdown is Pushdown.EXACT for pushdown in each):
        assert both.pushdown is either.pushdown is Pushdown.EXACT
    is_trivial = TRUE in map(simplify, parts)  # `true AND x` is x: TRUE contributes nothing to push
    if not is_trivial and any(pushdown is not Pushdown.UNSUPPORTED for pushdown in each):
        assert both.pushdown is not Pushdown.UNSUPPORTED
    twice = classify(Not(Not(And(parts))), capabilities)
    assert twice.pushdown is both.pushdown


@given(randoms)
def test_opaque_conjunct_in_a_branch_may_be_true_or_false(random: Random) -> None:
    """(a AND f(x)) OR b prunes the files that a OR b prunes, and is proven only where b is true."""
    case = random_case(random, containers=6)
    a, b = (random_predicate(random, case.columns, 1) for _ in range(2))
    hidden = Or((And((a, Opaque("f(a)"))), b))
    statistics = ArrowStatistics(case.files, case.partition_spec)
    of_hidden, plain = verdicts(hidden, statistics), verdicts(Or((a, b)), statistics)
    assert ((of_hidden == NONE) == (plain == NONE)).all()
    for verdict, rows in zip(of_hidden, case.containers, strict=True):
        assert verdict != ALL or all(row_value(b, row) is True for row in rows)
