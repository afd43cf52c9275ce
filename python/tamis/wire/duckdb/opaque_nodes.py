"""The SQL text of a node that is not understood, for reports, and the columns that it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tamis.expr.nodes import Opaque
from tamis.expr.sql import identifier
from tamis.wire.duckdb.column_references import Columns
from tamis.wire.duckdb.document import NotUnderstood

__all__ = ["opaque"]

#: Deeper nodes, further children and longer constants are shortened, as the text is for people.
_SHOWN_DEPTH: Final = 8
_SHOWN_CHILDREN: Final = 12
_SHOWN_CHARACTERS: Final = 80

_OPERATORS: Final = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_DISTINCT_FROM": "IS DISTINCT FROM",
    "COMPARE_NOT_DISTINCT_FROM": "IS NOT DISTINCT FROM",
    "CONJUNCTION_AND": "AND",
    "CONJUNCTION_OR": "OR",
}


def opaque(node: object, columns: Columns) -> Opaque:
    """Return the node as an Opaque. Never raises."""
    return Opaque(_text(node, columns, _SHOWN_DEPTH), _columns_below(node, columns))


def _columns_below(node: object, columns: Columns) -> tuple[tuple[str, ...], ...]:
    paths: dict[tuple[str, ...], None] = {}
    pending = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, list):
            pending.extend(reversed(each))
        elif isinstance(each, Mapping):
            if each.get("expression_class") == "BOUND_COLUMN_REF":
                name = _name(each, columns)
                if name is not None:
                    paths[(name,)] = None
            else:
                pending.extend(reversed(list(each.values())))
    return tuple(paths)


def _name(node: Mapping[str, Any], columns: Columns) -> str | None:
    try:
        return columns.name(node)
    except NotUnderstood:
        return None


def _text(node: object, columns: Columns, depth: int) -> str:
    if not isinstance(node, Mapping) or depth == 0:
        return "…"

    def text(child: object) -> str:
        return _text(child, columns, depth - 1)

    kind = node.get("type")
    if node.get("expression_class") == "BOUND_COLUMN_REF":
        name = _name(node, columns)
        return "…" if name is None else identifier((name,))
    if node.get("expression_class") == "BOUND_CONSTANT":
        return _constant(node.get("value"))
    below = _children(node)
    if isinstance(kind, str) and kind in _OPERATORS and len(below) > 1:
        return "(" + _joined(below, f" {_OPERATORS[kind]} ", text) + ")"
    return f"{_function(node)}({_joined(below, ', ', text)})"


def _joined(nodes: list[Any], separator: str, text: Callable[[object], str]) -> str:
    shown = [text(each) for each in nodes[:_SHOWN_CHILDREN]]
    return separator.join([*shown, "…"] if len(nodes) > len(shown) else shown)


_SINGLE: Final = ("left", "right", "input", "lower", "upper", "child", "else_expr")


def _children(node: Mapping[str, Any]) -> list[Any]:
    several = node.get("children")
    if isinstance(several, list):
        return several
    return [node[key] for key in _SINGLE if key in node]


def _function(node: Mapping[str, Any]) -> str:
    """Return the name of the node's function, else its type."""
    name, qualified = node.get("name"), node.get("qname")
    if isinstance(qualified, Mapping) and isinstance(qualified.get("path"), list):
        name = next(reversed(qualified["path"]), None)
    if not isinstance(name, str):
        name = node.get("type")
    if not isinstance(name, str):
        return "…"
    return name.removeprefix("OPERATOR_").replace("__cast", "CAST")[:_SHOWN_CHARACTERS]


def _constant(value: object) -> str:
    if not isinstance(value, Mapping) or "value" not in value:
        return "NULL"
    shown = value["value"]
    if isinstance(shown, Mapping | list):
        return "…"
    return repr(shown)[:_SHOWN_CHARACTERS]
