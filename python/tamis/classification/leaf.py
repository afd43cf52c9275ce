"""Classify a predicate that contains no AND, OR or NOT, except for a NOT in front.

The partition spec comes first. It needs no statistics, because a column may be known only through
it. Statistics come second. By their mere existence a predicate is never exact: only the actual
statistics of a file show whether all of its rows match.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tamis.classification.capabilities import Capabilities
from tamis.classification.lifting import (
    LiftingRule,
    best,
    has_boundary,
    lifting_rule,
    null_lifting_rule,
    prefix_lifting_rule,
    weakest,
)
from tamis.classification.pushdown import Pushdown
from tamis.evaluation.domain.edge_values import comparable
from tamis.evaluation.nodes.operators import FUNCTIONS, PREDICATES
from tamis.evaluation.udf.declared_calls import PREFIX, DeclaredCall, relies_on_declaration
from tamis.expr.nodes import (
    Call,
    Column,
    Compare,
    Comparison,
    Evaluated,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Opaque,
    children_of,
    type_of,
)
from tamis.expr.outcomes import Outcome
from tamis.expr.sql import to_sql
from tamis.expr.types import BOOLEAN, STRING
from tamis.files.partition import Transform, TransformKind
from tamis.files.table import dotted
from tamis.reasons import Reason, reason

__all__ = ["Leaf", "classify_leaf"]

Leaf = tuple[Pushdown, Reason | None]

_EXACT: Leaf = (Pushdown.EXACT, None)


def classify_leaf(expr: Expr, capabilities: Capabilities) -> Leaf:
    """Return what storage can do with a leaf, and why it is not exact."""
    positive = expr.child if isinstance(expr, Not) else expr
    if isinstance(positive, Evaluated):
        return Pushdown.INEXACT, _of_outcomes(positive)
    obstacle = next(_obstacles(expr, capabilities), None)
    if obstacle is not None:
        return Pushdown.UNSUPPORTED, obstacle
    match expr:
        case Literal():
            return _EXACT  # it keeps every file or none
        case Column():
            return _comparison(Comparison.EQUAL, expr, True, expr, capabilities)
        case Compare(op=op, left=Column() as column, right=Literal(value=value)):
            return _comparison(op, column, value, expr, capabilities)
        case Compare(op=op, left=Literal(value=value), right=Column() as column):
            return _comparison(op.swapped, column, value, expr, capabilities)
        case (
            Not(child=Compare(left=Column() as column, right=Literal(value=value)))
            | Not(child=Compare(left=Literal(value=value), right=Column() as column))
        ):
            # This is NOT (x <=> v), because only <=> has no negated operator. It is x <> v where x
            # is not NULL, and true where x is NULL, which the partition value decides as well.
            return _comparison(Comparison.NOT_EQUAL, column, value, expr, capabilities)
        case Compare(left=Column() as left, right=Column() as right):
            if _is_constant(left, capabilities) and _is_constant(right, capabilities):
                return _EXACT  # each has a single value per file
            return _by_statistics(expr, capabilities)
        case In(value=Column() as column):
            return _membership(column, expr, False, expr, capabilities)
        case Not(child=In(value=Column() as column) as membership):
            return _membership(column, membership, True, expr, capabilities)
        case IsNull(child=Column() as column) | Not(child=IsNull(child=Column() as column)):
            return _nullness(column, expr, capabilities)
        case Call() | Not(child=Call()):
            return _prefix(expr, expr.child if isinstance(expr, Not) else expr, capabilities)
        case _:
            return _by_statistics(expr, capabilities)


def _of_outcomes(expr: Evaluated) -> Reason:
    described = {"predicate": to_sql(expr), "column": dotted(expr.column.path)}
    if expr.outcomes.has(Outcome.RAISED):
        return reason("EVALUATION_FAILED", **described)
    if expr.outcomes.has(Outcome.NOT_EVALUATED):
        return reason("EVALUATION_STOPPED", **described)
    return reason("EVALUATED_VALUES_MIXED", **described)


def _prefix(expr: Expr, call: Expr, capabilities: Capabilities) -> Leaf:
    match call:
        case Call(
            name="StartsWith",
            arguments=(Column(type=data_type) as column, Literal(value=str(prefix))),
        ) if data_type == STRING:
            transforms = capabilities.transforms(dotted(column.path))
            rule = best(prefix_lifting_rule(transform, prefix) for transform in transforms)
            return _lifted(rule, column, expr, capabilities)
        case _:
            return _by_statistics(expr, capabilities)


def _comparison(
    op: Comparison, column: Column, value: object, expr: Expr, capabilities: Capabilities
) -> Leaf:
    rule = capabilities.lifting_rule(column, op, value)  # type: ignore[arg-type]
    if rule is LiftingRule.CONSERVATIVE:
        for transform in capabilities.transforms(dotted(column.path)):
            if has_boundary(transform, op, value, column.type):  # type: ignore[arg-type]
                described = _described(expr, column, [transform])
                return Pushdown.INEXACT, reason("NOT_ON_PARTITION_BOUNDARY", **described)
    return _lifted(rule, column, expr, capabilities)


def _membership(
    column: Column, membership: In, negated: bool, expr: Expr, capabilities: Capabilities
) -> Leaf:
    """Classify [NOT] IN.

    IN is an OR of equalities and NOT IN an AND of inequalities, so each is as strong as its weakest
    part.
    """
    op = Comparison.NOT_EQUAL if negated else Comparison.EQUAL
    rule = best(
        weakest(lifting_rule(transform, op, option, column.type) for option in membership.options)
        for transform in capabilities.transforms(dotted(column.path))
    )
    return _lifted(rule, column, expr, capabilities)


def _nullness(column: Column, expr: Expr, capabilities: Capabilities) -> Leaf:
    name = dotted(column.path)
    rules = (null_lifting_rule(each, column.type) for each in capabilities.transforms(name))
    if best(rules) is LiftingRule.TIGHT:
        return _EXACT
    if capabilities.has_null_counts(name):
        return Pushdown.INEXACT, reason("RANGES_OVERLAP", predicate=to_sql(expr), column=name)
    code = "FOOTERS_WITHOUT_STATISTICS" if capabilities.has_index else "NO_NULL_COUNTS"
    return Pushdown.UNSUPPORTED, reason(code, column=name)


def _lifted(rule: LiftingRule, column: Column, expr: Expr, capabilities: Capabilities) -> Leaf:
    if rule is LiftingRule.TIGHT:
        return _EXACT
    name = dotted(column.path)
    transforms = capabilities.transforms(name)
    if capabilities.has_statistics(name) or not transforms:
        return _by_statistics(expr, capabilities)
    described = _described(expr, column, transforms)
    if rule is LiftingRule.CONSERVATIVE:
        return Pushdown.INEXACT, reason("PARTITION_VALUE_IS_COARSE", **described)
    return Pushdown.UNSUPPORTED, reason("PARTITION_VALUE_PROVES_NOTHING", **described)


def _described(expr: Expr, column: Column, transforms: Sequence[Transform]) -> dict[str, str]:
    return {
        "predicate": to_sql(expr),
        "column": dotted(column.path),
        "transform": ", ".join(map(str, transforms)),
    }


def _by_statistics(expr: Expr, capabilities: Capabilities) -> Leaf:
    """Classify by statistics: usable if every column that the expression reads has some."""
    columns = [node for node in _unrecorded(expr, capabilities) if isinstance(node, Column)]
    for column in columns:
        name = dotted(column.path)
        if not (capabilities.has_statistics(name) or capabilities.transforms(name)):
            code = "FOOTERS_WITHOUT_STATISTICS" if capabilities.has_index else "NO_STATISTICS"
            return Pushdown.UNSUPPORTED, reason(code, column=name)
    if relies_on_declaration(expr):
        return Pushdown.INEXACT, reason("DECLARED_FUNCTION", predicate=to_sql(expr))
    if not columns:
        return Pushdown.INEXACT, reason("VALUES_MIXED", predicate=to_sql(expr))
    if len(columns) == 1:
        name = dotted(columns[0].path)
        return Pushdown.INEXACT, reason("RANGES_OVERLAP", predicate=to_sql(expr), column=name)
    return Pushdown.INEXACT, reason("COLUMNS_ARE_COMPARED", predicate=to_sql(expr))


def _is_constant(column: Column, capabilities: Capabilities) -> bool:
    """Return whether the column has a single value in each file."""
    transforms = capabilities.transforms(dotted(column.path))
    return any(transform.kind is TransformKind.IDENTITY for transform in transforms)


def _unrecorded(expr: Expr, capabilities: Capabilities) -> Iterator[Expr]:
    """Yield the expression and its descendants, but not subtrees with recorded statistics."""
    if capabilities.has_recorded(expr):
        return
    yield expr
    for child in children_of(expr):
        yield from _unrecorded(child, capabilities)


def _obstacles(expr: Expr, capabilities: Capabilities) -> Iterator[Reason]:
    """Yield a reason for each part of the expression that is not understood."""
    for node in _unrecorded(expr, capabilities):
        match node:
            case Opaque(sql=sql):
                yield reason("EXPRESSION_NOT_UNDERSTOOD", predicate=sql)
            case DeclaredCall():
                continue
            case Call(name=name) if name.startswith(PREFIX):
                function = name.removeprefix(PREFIX)
                yield reason("FUNCTION_NOT_DECLARED", function=function, predicate=to_sql(expr))
            case Call(name=name) if name not in FUNCTIONS and name not in PREDICATES:
                yield reason("FUNCTION_NOT_UNDERSTOOD", function=name, predicate=to_sql(expr))
            case Compare(left=left, right=right):
                types = type_of(left), type_of(right)
                if None not in types and not comparable(*types):  # type: ignore[arg-type]
                    yield reason("CONSTANTS_NOT_COMPARABLE", predicate=to_sql(node))
    if isinstance(expr, Column) and expr.type != BOOLEAN:
        yield reason("EXPRESSION_NOT_UNDERSTOOD", predicate=to_sql(expr))
