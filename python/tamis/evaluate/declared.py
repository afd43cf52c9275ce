"""Calls of functions that are known by declaration: bounds of f(x) from a contract.

What a contract promises is not proven: see `relies_on_declaration`. f(x) may be NULL for any x:
nothing is promised there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from tamis.evaluate.bounds import Bounds
from tamis.evaluate.images import Declared, Images
from tamis.evaluate.interpreter import value
from tamis.evaluate.python_values import NotAValue, to_python
from tamis.evaluate.statistics import Statistics
from tamis.evaluate.watch import Watch
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

#: What is in force for each name; of several for one function the last holds.
Declarations: TypeAlias = Mapping[str, Sequence[Declared]]

#: Names of user-defined functions begin with it: no class of Catalyst does.
PREFIX: Final = "udf:"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredCall(Call):
    """A call of a function of which something is declared."""

    declared: Declared
    watch: Watch


def bind(expr: Expr, declared: Declarations, watch: Watch) -> Expr:
    """The expression, its calls of declared functions known as such.

    A Python function that bears the name of a declared one, but is another, is not known.

    >>> from tamis.evaluate.contract import Contract
    >>> from tamis.evaluate.example import FILES
    >>> from tamis.evaluate.interpreter import truth
    >>> from tamis.expr.nodes import Column, Comparison
    >>> from tamis.expr.types import LONG
    >>> tens = Contract("tens", monotone=lambda x: x // 10)
    >>> call = Call("udf:tens", (Column(("c",), LONG),), (), LONG)
    >>> first = Compare(Comparison.GREATER, call, Literal(0, LONG))
    >>> truth(bind(first, {"tens": [Declared(tens)]}, Watch()), FILES).can_be_true.tolist()
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


def _bind_call(call: Call, declared: Declarations, watch: Watch) -> Call:
    if not call.name.startswith(PREFIX):
        return call
    name, body = call.name.removeprefix(PREFIX), call.option("body")
    of_name = declared.get(name, ())
    for each in reversed(of_name):
        if each.contract.body in (None, body):
            parts = (call.name, call.arguments, call.options, call.type)
            return DeclaredCall(*parts, declared=each, watch=watch)
    if of_name:
        watch.warn(
            f"declaration_of_another:{name}",
            f"{name} is not the function that was declared under this name, so that nothing is "
            "known of it: declare it again (tamis.declare).",
        )
    return call


def relies_on_declaration(expr: Expr) -> bool:
    """Whether what is known of the expression rests on the word of a person: never exact."""
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
    """The other arguments as Python values; None if one of them is no constant."""
    found = []
    for place, each in enumerate(arguments):
        if place == varying:
            continue
        if not isinstance(each, Literal):
            return None
        try:
            found.append(None if each.value is None else to_python(each.value, each.type))
        except NotAValue:
            return None
    return tuple(found)
