"""The three-way contract between the engine and storage: exact, inexact, unsupported.

NOT is first pushed down to the leaves (De Morgan; NOT (x < y) becomes x >= y), which three-valued
logic allows. Every part then occurs positively: if a part gets weaker, the whole gets weaker. So an
AND may leave out parts, an OR may not, and nothing below a NOT is ever weakened.

    A AND B    exact     inexact   unsupported      A OR B     exact     inexact   unsupported
    exact      exact     inexact   inexact: A       exact      exact     inexact   unsupported
    inexact    inexact   inexact   inexact: A       inexact    inexact   inexact   unsupported
    unsup.     inexact   inexact   unsupported      unsup.     unsup.    unsup.    unsupported

"inexact: A" pushes only A. A predicate that is not exact is applied again as a whole: it is the
residual. A predicate that is true for no row (x < 5 AND x > 10) is exact: it keeps no file,
whatever is known about x.
"""

from __future__ import annotations

from collections.abc import Sequence

from tamis.classification.capabilities import Capabilities
from tamis.classification.leaf import classify_leaf
from tamis.classification.lifting import LiftingRule
from tamis.classification.pushdown import Classification, Pushdown
from tamis.evaluation.nodes.ranges import without_contradictions
from tamis.expr.nodes import And, Expr, Or
from tamis.expr.rewrites import conjoin, disjoin, simplify
from tamis.reasons import Reason, reason

__all__ = ["Capabilities", "Classification", "LiftingRule", "Pushdown", "classify"]


def classify(expr: Expr, capabilities: Capabilities) -> Classification:
    """Return what storage with these capabilities does with a predicate, and why it is not exact.

    The result is static: it holds for all files whose partition values are known. `expr` implies
    `pushed`.

    >>> from tamis.expr.nodes import Column, Compare, Comparison, Literal, Opaque
    >>> from tamis.expr.sql import to_sql
    >>> from tamis.expr.types import LONG
    >>> cheap = Compare(Comparison.LESS, Column(("price",), LONG), Literal(5, LONG))
    >>> both = classify(And((cheap, Opaque("f(x)"))), Capabilities(statistics=["price"]))
    >>> str(both.pushdown), to_sql(both.pushed), to_sql(both.residual)
    ('inexact', 'price < 5L', 'price < 5L AND f(x)')
    """
    pushdown, pushed, why = _classify(without_contradictions(simplify(expr)), capabilities)
    match pushdown:
        case Pushdown.EXACT:
            return Classification(pushdown, expr, None, None)
        case Pushdown.INEXACT:
            return Classification(pushdown, pushed, expr, why)
        case Pushdown.UNSUPPORTED:
            return Classification(pushdown, None, expr, why)


_Result = tuple[Pushdown, Expr, Reason | None]


def _classify(expr: Expr, capabilities: Capabilities) -> _Result:
    match expr:
        case And(parts=parts):
            return _conjunction(expr, [_classify(part, capabilities) for part in parts])
        case Or(parts=parts):
            return _disjunction(expr, [_classify(part, capabilities) for part in parts])
        case _:
            pushdown, why = classify_leaf(expr, capabilities)
            return pushdown, expr, why


def _conjunction(expr: Expr, parts: Sequence[_Result]) -> _Result:
    if all(pushdown is Pushdown.EXACT for pushdown, _, _ in parts):
        return Pushdown.EXACT, expr, None
    # An AND without some of its parts is weaker: it keeps more files, and no row is lost.
    pushed = [part for pushdown, part, _ in parts if pushdown is not Pushdown.UNSUPPORTED]
    why = _worst(parts)
    if not pushed:
        return Pushdown.UNSUPPORTED, expr, why
    if len(pushed) < len(parts) and why is not None:
        why = reason("AND_KEEPS_BRANCH", because=why.text, then=why.fix or "")
    return Pushdown.INEXACT, conjoin(pushed), why


def _disjunction(expr: Expr, parts: Sequence[_Result]) -> _Result:
    if all(pushdown is Pushdown.EXACT for pushdown, _, _ in parts):
        return Pushdown.EXACT, expr, None
    why = _worst(parts)
    if any(pushdown is Pushdown.UNSUPPORTED for pushdown, _, _ in parts):
        # An OR without one of its parts is stronger: rows that only that part matches are lost.
        assert why is not None  # an unsupported branch has a reason
        because = reason("OR_NEEDS_EVERY_BRANCH", because=why.text, then=why.fix or "")
        return Pushdown.UNSUPPORTED, expr, because
    return Pushdown.INEXACT, disjoin(part for _, part, _ in parts), why


def _worst(parts: Sequence[_Result]) -> Reason | None:
    """Return the reason of the first unsupported part, else of the first inexact part."""
    for wanted in (Pushdown.UNSUPPORTED, Pushdown.INEXACT):
        for pushdown, _, why in parts:
            if pushdown is wanted:
                return why
    return None
