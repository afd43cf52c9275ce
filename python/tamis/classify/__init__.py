"""The three-way contract: what storage proves, what it helps with, what it leaves to the engine.

NOT is first brought down to the leaves (De Morgan; x < y becomes x >= y), which three-valued logic
allows. Then every part counts positively: the whole is implied by it more often if the part is
weaker. So an AND may leave parts out, an OR may not, and nothing is weakened below a NOT.

    A AND B    exact     inexact   unsupported      A OR B     exact     inexact   unsupported
    exact      exact     inexact   inexact: A       exact      exact     inexact   unsupported
    inexact    inexact   inexact   inexact: A       inexact    inexact   inexact   unsupported
    unsup.     inexact   inexact   unsupported      unsup.     unsup.    unsup.    unsupported

"inexact: A" pushes A alone. Whatever is not exact is applied again as a whole: the residual.
What no row can make true (x < 5 AND x > 10) is exact: it keeps no file, whatever is known of x.
"""

from __future__ import annotations

from collections.abc import Sequence

from tamis.classify.capabilities import Capabilities
from tamis.classify.leaf import classify_leaf
from tamis.classify.lifting import LiftingRule
from tamis.classify.pushdown import Classification, Pushdown
from tamis.evaluate.ranges import without_contradictions
from tamis.expr.nodes import And, Expr, Or
from tamis.expr.rewrites import conjoin, disjoin, simplify
from tamis.reasons import Reason, reason

__all__ = ["Capabilities", "Classification", "LiftingRule", "Pushdown", "classify"]


def classify(expr: Expr, capabilities: Capabilities) -> Classification:
    """What storage with these capabilities does with a predicate, and why no more.

    Static: it holds for every file whose partition values are known. `pushed` is implied by `expr`.

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
    # Without one of its parts an AND is weaker: it keeps more files, and no row is lost.
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
        # Without one of its parts an OR is stronger: rows that only that part matches are lost.
        assert why is not None  # an unsupported branch has a reason
        because = reason("OR_NEEDS_EVERY_BRANCH", because=why.text, then=why.fix or "")
        return Pushdown.UNSUPPORTED, expr, because
    return Pushdown.INEXACT, disjoin(part for _, part, _ in parts), why


def _worst(parts: Sequence[_Result]) -> Reason | None:
    """The reason of the first unsupported part, or else of the first inexact one."""
    for wanted in (Pushdown.UNSUPPORTED, Pushdown.INEXACT):
        for pushdown, _, why in parts:
            if pushdown is wanted:
                return why
    return None
