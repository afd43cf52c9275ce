"""Calls of declared functions: bounds of f(x) from a contract.

A contract is not proven; see `relies_on_declaration`. It promises nothing about NULL results, so
f(x) may be NULL for any x.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.interpreter import value
from tamis.evaluation.statistics import Statistics
from tamis.evaluation.udf.images import Declared, Images
from tamis.evaluation.udf.python_values import NotAValue, to_python
from tamis.evaluation.udf.udf_guard import UdfGuard
from tamis.expr.nodes import And, Call, Compare, Expr, In, IsNull, Literal, Not, Or, walk

__all__ = [
    "PREFIX",
    "Declarations",
    "Declared",
    "DeclaredCall",
    "bind",
    "declared_call",
    "relies_on_declaration",
]

#: The declarations in force for each name. If several match a function, the last one applies.
Declarations: TypeAlias = Mapping[str, Sequence[Declared]]

#: The prefix of the names of user-defined functions. No Catalyst class has a name that begins so.
PREFIX: Final = "udf:"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredCall(Call):
    """A call of a declared function."""

    declared: Declared
    watch: UdfGuard


def bind(expr: Expr, declared: Declarations, watch: UdfGuard) -> Expr:
    """Return the expression with every call of a declared function as a `DeclaredCall`.

    A different Python function under the name of a declared one is not bound; `watch` gets a
    warning.

    Args:
        expr: The expression.
        declared: The declarations in force.
        watch: The time limit and the warnings of the plan.

    >>> from tamis.evaluation.udf.udf_contract import Contract
    >>> from tamis.files.example import FILES
    >>> from tamis.evaluation.interpreter import truth
    >>> from tamis.expr.nodes import Column, Comparison
    >>> from tamis.expr.types import LONG
    >>> tens = Contract("tens", monotone=lambda x: x // 10)
    >>> call = Call("udf:tens", (Column(("c",), LONG),), (), LONG)
    >>> first = Compare(Comparison.GREATER, call, Literal(0, LONG))
    >>> truth(bind(first, {"tens": [Declared(tens)]}, UdfGuard()), FILES).can_be_true.tolist()
    [False, False, True, False]
    """

    def below(child: Expr) -> Expr:
        return bind(child, declared, watch)

    match expr:
        case And(parts=parts):
            return And(tuple(map(below, parts)))
        case Or(parts=parts):
            return Or(tuple(map(below, parts)))
        case Not(child=child):
            return Not(below(child))
        case IsNull(child=child):
            return IsNull(below(child))
        case In(value=child):
            return replace(expr, value=below(child))
        case Compare(left=left, right=right):
            return replace(expr, left=below(left), right=below(right))
        case Call():
            inner = replace(expr, arguments=tuple(map(below, expr.arguments)))
            return _bind_call(inner, declared, watch)
        case _:
            return expr


def _bind_call(call: Call, declared: Declarations, watch: UdfGuard) -> Call:
    if not call.name.startswith(PREFIX):
        return call
    name, body = call.name.removeprefix(PREFIX), call.option("body")
    candidates = declared.get(name, ())
    for candidate in reversed(candidates):
        if candidate.contract.function_digest in (None, body):
            parts = (call.name, call.arguments, call.options, call.type)
            return DeclaredCall(*parts, declared=candidate, watch=watch)
    if candidates:
        watch.warn(
            f"declaration_of_another:{name}",
            f"{name} is not the function that was declared under this name, so its declaration is "
            "not used. Declare it again with tamis.declare.",
        )
    return call


def relies_on_declaration(expr: Expr) -> bool:
    """Return whether the bounds of the expression rely on a declaration; it is never exact then."""
    return any(isinstance(node, DeclaredCall) for node in walk(expr))


def declared_call(call: DeclaredCall, statistics: Statistics) -> Bounds | None:
    contract = call.declared.contract
    if contract.argument >= len(call.arguments):
        return None
    constants = _constants(call.arguments, contract.argument)
    bounds = value(call.arguments[contract.argument], statistics)
    if bounds is None or constants is None or not contract.covers(bounds.type, constants):
        return None
    return Images(call.declared, bounds.type, call.type, constants, call.watch).of(bounds)


def _constants(arguments: tuple[Expr, ...], varying: int) -> tuple[Any, ...] | None:
    """Return the other arguments as Python values; None if one of them is not a constant."""
    constants = []
    for place, argument in enumerate(arguments):
        if place == varying:
            continue
        if not isinstance(argument, Literal):
            return None
        try:
            constants.append(
                None if argument.value is None else to_python(argument.value, argument.type)
            )
        except NotAValue:
            return None
    return tuple(constants)
