"""Check the structure of an expression, before its types and its meaning are read.

node            properties
column_ref      column_index, column_name        an index into the schema that bind returned
field_ref       expression, field_index, field_name
literal         value_ref                        value_N
comparison      op, left, right
and, or         children                         two or more
not, negate     expression
is_null         expression, negated
in              expression, set, negated         a literal list, or a column of the join keys
cast            expression, type_ref             type_N
arithmetic      op, left, right
call            function, arguments[, options]
runtime_filter  algorithm, input, artifact_ref, null_handling
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa

from tamis.wire.vgi.container import Container
from tamis.wire.vgi.document import (
    MAX_DEPTH,
    MAX_NODES,
    Malformed,
    Mode,
    Node,
    exactly,
    index,
    text,
)

__all__ = ["STANDARD_FUNCTIONS", "check_structure", "matching_field"]

COMPARISONS: Final = ("eq", "ne", "lt", "le", "gt", "ge", "distinct_from", "not_distinct_from")
OPERATORS: Final = ("add", "subtract", "multiply", "divide", "modulo")
STANDARD_FUNCTIONS: Final = ("starts_with", "ends_with", "contains", "list_contains")
#: Names of the protocol that this package does not implement: a predicate with them is ignored, or
#: refused if it is required. Other names are errors.
_KNOWN_FUNCTIONS: Final = (("duckdb.spatial", "intersects_extent", 1),)
_KNOWN_ALGORITHMS: Final = (
    ("duckdb.runtime_filter", "bloom", 1),
    ("duckdb.runtime_filter", "prefix_range", 1),
)
_MAX_ARGUMENTS: Final = 256

_PROPERTIES: Final = {
    "column_ref": ("column_index", "column_name"),
    "field_ref": ("expression", "field_index", "field_name"),
    "literal": ("value_ref",),
    "comparison": ("op", "left", "right"),
    "and": ("children",),
    "or": ("children",),
    "not": ("expression",),
    "is_null": ("expression", "negated"),
    "in": ("expression", "set", "negated"),
    "cast": ("expression", "type_ref"),
    "arithmetic": ("op", "left", "right"),
    "negate": ("expression",),
    "call": ("function", "arguments"),
    "runtime_filter": ("algorithm", "input", "artifact_ref", "null_handling"),
}
_BELOW: Final = ("expression", "left", "right", "input", "children", "arguments")


class _Scope:
    """What the references of a document refer to."""

    def __init__(
        self, schema: pa.Schema, container: Container, keys: Sequence[pa.RecordBatch]
    ) -> None:
        self.schema, self.container, self.keys = schema, container, keys


def check_structure(
    expression: object,
    mode: Mode,
    schema: pa.Schema,
    container: Container,
    keys: Sequence[pa.RecordBatch],
) -> None:
    """Check an expression.

    Args:
        expression: The expression.
        mode: The mode of its predicate.
        schema: The columns, without a projection.
        container: The payloads.
        keys: The join keys.

    Raises:
        Malformed: A node is unknown, has other properties than its kind, or refers to something
            that does not exist.
    """
    scope = _Scope(schema, container, keys)
    pending: list[tuple[object, int]] = [(expression, 1)]
    count = 0
    while pending:
        value, depth = pending.pop()
        count += 1
        if count > MAX_NODES or depth > MAX_DEPTH:
            raise Malformed(f"an expression has more than {MAX_NODES} nodes or {MAX_DEPTH} levels")
        node = _node(value)
        kind = node["node"]
        if kind == "runtime_filter" and (depth > 1 or mode is Mode.REQUIRED):
            raise Malformed("a runtime_filter is not the root of an advisory predicate")
        _CHECKS.get(kind, _no_check)(node, scope)
        pending.extend((each, depth + 1) for each in _below(node))


def _node(value: object) -> Node:
    kind = value.get("node") if isinstance(value, dict) else None
    properties = _PROPERTIES.get(kind) if isinstance(kind, str) else None
    if properties is None:
        raise Malformed(f"unknown node {str(kind)[:60]!r}")
    assert isinstance(value, dict)
    has_options = kind == "call" and isinstance(value.get("function"), dict) and "options" in value
    options = ("options",) if has_options else ()
    return exactly(value, ("node", *properties, *options), f"the node {kind!r}")


def _below(node: Node) -> list[Any]:
    below: list[Any] = []
    for name in _BELOW:
        value = node.get(name)
        if name in ("children", "arguments") and name in node:
            if not isinstance(value, list):
                raise Malformed(f"the property {name!r} is not an array")
            below.extend(value)
        elif name in node:
            below.append(value)
    return below


def _no_check(node: Node, scope: _Scope) -> None:
    pass


def _check_column(node: Node, scope: _Scope) -> None:
    matching_field(scope.schema, node, "column")


def matching_field(fields: pa.Schema, node: Node, what: str) -> pa.Field:
    """Return the field whose index and name a node has as `<what>_index` and `<what>_name`.

    Raises:
        Malformed: There is no such field.
    """
    ordinal = index(node[f"{what}_index"], f"a {what}_index")
    name = text(node[f"{what}_name"], f"a {what}_name")
    if ordinal >= len(fields):
        raise Malformed(f"the {what}_index {ordinal} is out of range")
    if fields.field(ordinal).name != name:
        raise Malformed(f"the {what}_name {name[:60]!r} does not match index {ordinal}")
    return fields.field(ordinal)


def _check_field(node: Node, scope: _Scope) -> None:
    index(node["field_index"], "a field_index")
    text(node["field_name"], "a field_name")


def _check_literal(node: Node, scope: _Scope) -> None:
    scope.container.value(index(node["value_ref"], "a value_ref"))


def _check_op(allowed: tuple[str, ...]) -> Callable[[Node, _Scope], None]:
    def check(node: Node, scope: _Scope) -> None:
        if node["op"] not in allowed:
            raise Malformed(f"unknown operator {str(node['op'])[:60]!r}")

    return check


def _check_children(node: Node, scope: _Scope) -> None:
    if not isinstance(node["children"], list) or len(node["children"]) < 2:
        raise Malformed(f"the node {node['node']!r} does not have two children")


def _check_negated(node: Node, scope: _Scope) -> None:
    if type(node["negated"]) is not bool:
        raise Malformed("the property 'negated' is not a boolean")


def _check_in(node: Node, scope: _Scope) -> None:
    _check_negated(node, scope)
    options = node["set"]
    kind = options.get("kind") if isinstance(options, dict) else None
    if kind == "literal":
        exactly(options, ("kind", "value_ref"), "a set")
        scope.container.value(index(options["value_ref"], "a value_ref"))
    elif kind == "external":
        exactly(options, ("kind", "batch_index", "column_index", "column_name"), "a set")
        ordinal = index(options["batch_index"], "a batch_index")
        if ordinal >= len(scope.keys):
            raise Malformed(f"the batch_index {ordinal} is out of range")
        matching_field(scope.keys[ordinal].schema, options, "column")
    else:
        raise Malformed("a set is neither literal nor external")


def _check_cast(node: Node, scope: _Scope) -> None:
    scope.container.cast_type(index(node["type_ref"], "a type_ref"))


def _check_call(node: Node, scope: _Scope) -> None:
    arguments, function = node["arguments"], node["function"]
    if isinstance(arguments, list) and len(arguments) > _MAX_ARGUMENTS:
        raise Malformed(f"a call has more than {_MAX_ARGUMENTS} arguments")
    if isinstance(function, str):
        if function not in STANDARD_FUNCTIONS:
            raise Malformed(f"unknown standard filter function {function[:60]!r}")
    elif _identity(function, "a function") not in _KNOWN_FUNCTIONS:
        raise Malformed("unknown filter function")


def _check_runtime_filter(node: Node, scope: _Scope) -> None:
    if _identity(node["algorithm"], "an algorithm") not in _KNOWN_ALGORITHMS:
        raise Malformed("unknown algorithm of a runtime filter")
    if node["null_handling"] not in ("pass", "reject"):
        raise Malformed("unknown null_handling of a runtime filter")
    scope.container.require_artifact(index(node["artifact_ref"], "an artifact_ref"))


def _identity(value: object, what: str) -> tuple[str, str, int]:
    node = exactly(value, ("namespace", "name", "version"), what)
    version = index(node["version"], "a version")
    return text(node["namespace"], "a namespace"), text(node["name"], "a name"), version


_CHECKS: Final[dict[str, Callable[[Node, _Scope], None]]] = {
    "column_ref": _check_column,
    "field_ref": _check_field,
    "literal": _check_literal,
    "comparison": _check_op(COMPARISONS),
    "and": _check_children,
    "or": _check_children,
    "is_null": _check_negated,
    "in": _check_in,
    "cast": _check_cast,
    "arithmetic": _check_op(OPERATORS),
    "call": _check_call,
    "runtime_filter": _check_runtime_filter,
}
