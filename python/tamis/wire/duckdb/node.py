"""The interface that the rules for nodes use, and the kind of a node, which selects its rule.

The kind is the node's `type`, which is the same in all versions even where the class differs. For a
function without a type of its own it is the name, such as "prefix()".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from tamis.expr.nodes import Expr
from tamis.wire.duckdb.column_references import Columns
from tamis.wire.duckdb.comparisons import Operand
from tamis.wire.duckdb.document import children, require

__all__ = ["Node", "Reader", "kind_of", "operands_of"]

Node: TypeAlias = Mapping[str, Any]


class Reader(Protocol):
    """A reader of the nodes of one document. A child is one level deeper than its parent."""

    @property
    def columns(self) -> Columns: ...

    def predicate(self, node: object, depth: int) -> Expr:
        """Return a node as a predicate, Opaque if it is not understood."""
        ...

    def operand(self, node: object, depth: int) -> Operand:
        """Return a node as a value, or raise NotUnderstood if it has no counterpart."""
        ...


def kind_of(node: Node) -> str:
    """Return the kind of a node, empty if it has none.

    >>> kind_of({"expression_class": "BOUND_FUNCTION", "type": "COMPARE_EQUAL"})
    'COMPARE_EQUAL'
    >>> kind_of({"type": "BOUND_FUNCTION", "qname": {"path": ["system", "main", "prefix"]}})
    'prefix()'
    """
    kind = node.get("type")
    if kind == "BOUND_FUNCTION":
        return _function_name(node) + "()"
    if node.get("expression_class") == "BOUND_CAST":
        return "OPERATOR_CAST"
    return kind if isinstance(kind, str) else ""


def _function_name(node: Node) -> str:
    qualified = node.get("qname")
    if isinstance(qualified, Mapping):
        *owner, name = children(qualified.get("path")) or [None]
    else:
        # Both are empty if DuckDB itself created the call, for example from LIKE.
        owner = [node.get("catalog_name") or "system", node.get("schema_name") or "main"]
        name = node.get("name")
    # A function in another schema may have any meaning.
    require(isinstance(name, str) and owner in ([], ["system", "main"]))
    return str(name)


def operands_of(node: Node, *names: str) -> list[Any]:
    """Return the child nodes, which have own names up to DuckDB 1.5 and are a list from 2.0."""
    if names[0] in node:
        return [node.get(name) for name in names]
    below = children(node.get("children"))
    require(len(below) == len(names))
    return below
