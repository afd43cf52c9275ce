"""Write expressions as a filter document, in the form that DuckDB uses up to 1.5.

    tamis                          document
    column, literal                BOUND_COLUMN_REF, BOUND_CONSTANT
    field of a struct              struct_extract(…)
    = <> < <= > >= <=>             BOUND_COMPARISON
    AND OR                         BOUND_CONJUNCTION
    NOT IN IS NULL Coalesce        BOUND_OPERATOR
    StartsWith EndsWith Contains   prefix(…) suffix(…) contains(…)

Expressions without such a form are rejected. A server applies every filter that it receives. If the
rows are filtered again, the caller may leave out a filter, but a filter must not be weakened
silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Final

from tamis.errors import WireError
from tamis.expr.decimals import unscaled
from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Value,
    type_of,
)
from tamis.expr.sql import to_sql
from tamis.expr.types import BOOLEAN, STRING, DataType

__all__ = ["to_duckdb"]

#: The location that DuckDB writes for a node that does not come from the text of a query.
_NO_LOCATION: Final = (1 << 64) - 1


def to_duckdb(exprs: Iterable[Expr], columns: Sequence[str]) -> dict[str, Any]:
    """Return the document with these expressions as filters, in the form for Airport servers.

    `json.dumps` writes NaN and infinite constants as bare NaN and Infinity, as DuckDB does.

    Args:
        exprs: The filters.
        columns: The names of the table's columns, in the order of their bindings.

    Raises:
        WireError: The document cannot express a filter, for example an opaque one, or a column is
            not among the names. Leave out that filter, and apply it to the returned rows.

    >>> from tamis.expr.types import FLOAT
    >>> score = Column(("score",), FLOAT)
    >>> document = to_duckdb([Compare(Comparison.GREATER, score, Literal(500.0, FLOAT))], ["score"])
    >>> from tamis.wire.duckdb import from_duckdb
    >>> [to_sql(each) for each in from_duckdb(document)]
    ['score > 500.0F']
    """
    writer = _Writer(list(columns))
    return {
        "filters": [writer.node(each) for each in exprs],
        "column_binding_names_by_index": list(columns),
    }


class _Writer:
    def __init__(self, columns: list[str]) -> None:
        self._columns = columns

    def node(self, expr: Expr) -> dict[str, Any]:
        match expr:
            case Literal(value=value, type=data_type):
                return _constant(value, data_type)
            case Column():
                return self._column(expr)
            case And(parts=parts):
                return self._conjunction("CONJUNCTION_AND", parts, True)
            case Or(parts=parts):
                return self._conjunction("CONJUNCTION_OR", parts, False)
            case Not(child=IsNull(child=child)):
                return _operator("OPERATOR_IS_NOT_NULL", [self.node(child)])
            case Not(child=In() as child):
                return self._in("COMPARE_NOT_IN", child)
            case Not(child=child):
                return _operator("OPERATOR_NOT", [self.node(child)])
            case IsNull(child=child):
                return _operator("OPERATOR_IS_NULL", [self.node(child)])
            case In():
                return self._in("COMPARE_IN", expr)
            case Compare():
                return self._comparison(expr)
            case Call(name="Coalesce", arguments=arguments, type=data_type):
                below = [self.node(each) for each in arguments]
                return _operator("OPERATOR_COALESCE", below, data_type)
            case Call(name=name, arguments=arguments, type=data_type) if name in _FUNCTIONS:
                below = [self.node(each) for each in arguments]
                return _function(_FUNCTIONS[name], below, _type(data_type))
            case _:
                raise WireError(
                    f"a filter document cannot express `{to_sql(expr)}`: "
                    "leave out that filter, and apply it to the returned rows"
                )

    def _column(self, expr: Column) -> dict[str, Any]:
        outermost, *fields = expr.path
        if outermost not in self._columns:
            raise WireError(
                f"the filter uses the column `{outermost}`, which is not one of the given columns "
                f"({', '.join(self._columns) or 'none'}): pass the names of all columns"
            )
        types = [_type(expr.type)]
        for field in reversed(fields):
            types.insert(0, _struct(field, types[0]))
        node = _node("BOUND_COLUMN_REF", "BOUND_COLUMN_REF") | {
            "alias": outermost,
            "return_type": types[0],
            "binding": {"table_index": 0, "column_index": self._columns.index(outermost)},
            "depth": 0,
        }
        for field, data_type in zip(fields, types[1:], strict=True):
            node = _function("struct_extract", [node, _constant(field, STRING)], data_type)
        return node

    def _conjunction(self, kind: str, parts: tuple[Expr, ...], neutral: bool) -> dict[str, Any]:
        if not parts:
            return _constant(neutral, BOOLEAN)
        below = [self.node(each) for each in parts]
        return _node("BOUND_CONJUNCTION", kind) | {"children": below}

    def _in(self, kind: str, expr: In) -> dict[str, Any]:
        data_type = type_of(expr.value)
        if data_type is None:
            return self.node(expr.value)  # raises
        options: list[Value] = [*expr.options, None] if expr.has_null else [*expr.options]
        if not options:
            # DuckDB has no empty list. Such an IN is NULL where the value is NULL, else false.
            nothing = And((IsNull(expr.value), Literal(None, BOOLEAN)))
            return self.node(nothing if kind == "COMPARE_IN" else Not(nothing))
        below = [_constant(option, data_type) for option in options]
        return _operator(kind, [self.node(expr.value), *below])

    def _comparison(self, expr: Compare) -> dict[str, Any]:
        left, right = type_of(expr.left), type_of(expr.right)
        common = None if left is None or right is None else _common(left, right)
        if common is None:
            raise WireError(
                f"a filter document cannot express `{to_sql(expr)}`, whose sides have no common "
                "type: leave out that filter, and apply it to the returned rows"
            )
        return _node("BOUND_COMPARISON", _COMPARISONS[expr.op]) | {
            "left": _cast(self.node(expr.left), left, common),
            "right": _cast(self.node(expr.right), right, common),
        }


def _node(expression_class: str, kind: str) -> dict[str, Any]:
    return {
        "expression_class": expression_class,
        "type": kind,
        "alias": "",
        "query_location": _NO_LOCATION,
    }


def _operator(
    kind: str, below: list[dict[str, Any]], data_type: DataType = BOOLEAN
) -> dict[str, Any]:
    return _node("BOUND_OPERATOR", kind) | {"return_type": _type(data_type), "children": below}


def _function(name: str, below: list[dict[str, Any]], returns: dict[str, Any]) -> dict[str, Any]:
    return _node("BOUND_FUNCTION", "BOUND_FUNCTION") | {
        "return_type": returns,
        "children": below,
        "name": name,
        "arguments": [_type_of_node(each) for each in below],
        "original_arguments": [],
        "catalog_name": "system",
        "schema_name": "main",
        "has_serialize": False,
        "is_operator": False,
    }


def _type_of_node(node: dict[str, Any]) -> Any:
    return node["value"]["type"] if "value" in node else node["return_type"]


def _cast(node: dict[str, Any], source: DataType | None, target: DataType) -> dict[str, Any]:
    if source == target:
        return node
    return _node("BOUND_CAST", "OPERATOR_CAST") | {
        "child": node,
        "return_type": _type(target),
        "try_cast": False,
    }


def _common(left: DataType, right: DataType) -> DataType | None:
    """Return the type to which tamis casts both sides to compare them, None if there is none."""
    if left == right:
        return left
    if left.is_integral and right.is_integral:
        return max(left, right, key=lambda each: each.domain[1])
    if left.is_floating and right.is_floating:
        return left if left.name == "double" else right
    if left.is_decimal and right.is_decimal and left.scale == right.scale:
        return max(left, right, key=lambda each: each.precision or 0)
    return None


_COMPARISONS: Final = {
    Comparison.EQUAL: "COMPARE_EQUAL",
    Comparison.NOT_EQUAL: "COMPARE_NOTEQUAL",
    Comparison.LESS: "COMPARE_LESSTHAN",
    Comparison.LESS_EQUAL: "COMPARE_LESSTHANOREQUALTO",
    Comparison.GREATER: "COMPARE_GREATERTHAN",
    Comparison.GREATER_EQUAL: "COMPARE_GREATERTHANOREQUALTO",
    Comparison.NULL_SAFE_EQUAL: "COMPARE_NOT_DISTINCT_FROM",
}

_FUNCTIONS: Final = {"StartsWith": "prefix", "EndsWith": "suffix", "Contains": "contains"}

_TYPES: Final = {
    "boolean": "BOOLEAN",
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
}


def _type(data_type: DataType) -> dict[str, Any]:
    if not data_type.is_decimal:
        return {"id": _TYPES[data_type.name], "type_info": None}
    info = {
        "type": "DECIMAL_TYPE_INFO",
        "alias": "",
        "extension_info": None,
        "width": data_type.precision,
        "scale": data_type.scale,
    }
    return {"id": "DECIMAL", "type_info": info}


def _struct(field: str, data_type: dict[str, Any]) -> dict[str, Any]:
    """Return a struct type in which only one field matters."""
    info = {
        "type": "STRUCT_TYPE_INFO",
        "alias": "",
        "extension_info": None,
        "child_types": [{"first": field, "second": data_type}],
    }
    return {"id": "STRUCT", "type_info": info}


def _constant(value: Value, data_type: DataType) -> dict[str, Any]:
    written: dict[str, Any] = {"type": _type(data_type), "is_null": value is None}
    if value is not None:
        written["value"] = _value(value, data_type)
    return _node("BOUND_CONSTANT", "VALUE_CONSTANT") | {"value": written}


def _value(value: Value, data_type: DataType) -> Any:
    match value:
        case Decimal() | int() if data_type.is_decimal:
            whole = unscaled(value, data_type.scale or 0)
            if data_type.is_discrete:
                return whole
            return {"upper": whole >> 64, "lower": whole & _NO_LOCATION}
        case bytes():
            return "".join(f"\\x{byte:02X}" for byte in value)
        case _:
            return value
