"""Keys of conditions: conditions with the same key are true for the same rows."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Opaque,
    Or,
    children_of,
    walk,
)

__all__ = ["condition_key", "is_comparison"]

#: The most nodes and constants of a condition that gets a key. Scans compute the keys of their
#: conjuncts each time.
_MOST: Final = 100


def condition_key(condition: Expr) -> str | None:
    """Return a key that is the same only for conditions that are true for the same rows.

    That of a call or an opaque expression is its own key. The others get one from their form,
    which the caller has simplified. None: some part has no key, or there are too many.

    >>> from tamis.expr.nodes import Comparison
    >>> from tamis.expr.types import LONG
    >>> a, five = Column(("a",), LONG), Literal(5, LONG)
    >>> one = condition_key(Compare(Comparison.LESS, a, five))
    >>> one == condition_key(Compare(Comparison.GREATER, five, a))
    True
    >>> one == condition_key(Compare(Comparison.GREATER, a, five))
    False
    """
    if isinstance(condition, Call | Opaque):
        return condition.key
    if not is_comparison(condition):
        return None
    size = 0
    for node in walk(condition):
        size += 1 + (len(node.options) if isinstance(node, In) else 0)
        if size > _MOST:
            return None
    form = _form(condition)
    if form is None:
        return None
    return f"condition {hashlib.sha256(json.dumps(form).encode()).hexdigest()[:32]}"


def is_comparison(condition: Expr) -> bool:
    """Return whether a condition is made of comparisons, so that the extension gives it no key."""
    return isinstance(condition, Compare | In | IsNull | Not | Or)


def _form(expr: Expr) -> list[Any] | None:
    """Return the parts that decide the value of an expression, as JSON; None if one has no key."""
    children = [_form(child) for child in children_of(expr)] if not _has_own_key(expr) else []
    forms = [form for form in children if form is not None]
    if len(forms) < len(children):
        return None
    match expr:
        case Call(key=str(key)) | Opaque(key=str(key)):
            return ["key", key]
        case Column(path=path, type=data_type):
            return ["column", str(data_type), *path]
        case Literal(value=value, type=data_type):
            return ["constant", str(data_type), repr(value)]
        case Compare(op=op):
            # a < b is b > a: of the two, the one whose JSON comes first
            mirrored = ["compare", str(op.swapped), *reversed(forms)]
            return min(["compare", str(op), *forms], mirrored, key=json.dumps)
        case In(options=options, has_null=has_null):
            return ["in", *forms, sorted(map(repr, options)), has_null]
        case IsNull():
            return ["null", *forms]
        case Not():
            return ["not", *forms]
        case And() | Or():
            return [type(expr).__name__, *sorted(forms, key=json.dumps)]
    return None


def _has_own_key(expr: Expr) -> bool:
    return isinstance(expr, Call | Opaque)
