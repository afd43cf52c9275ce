"""Nodes of a filter document in both of DuckDB's forms, for tests that write their own."""

from __future__ import annotations

from typing import Any

NAMES = ["title", "post_time", "score"]


def type_of(name: str, **info: Any) -> dict[str, Any]:
    return {"id": name, "type_info": info or None}


def decimal(width: int, scale: int) -> dict[str, Any]:
    return type_of("DECIMAL", type="DECIMAL_TYPE_INFO", alias="", width=width, scale=scale)


def column(index: int, data_type: Any, alias: str = "") -> dict[str, Any]:
    kind = "BOUND_COLUMN_REF"
    return node(kind, kind) | {
        "alias": alias,
        "return_type": type_of(data_type) if isinstance(data_type, str) else data_type,
        "binding": {"table_index": 0, "column_index": index},
        "depth": 0,
    }


def constant(data_type: Any, value: Any) -> dict[str, Any]:
    data_type = type_of(data_type) if isinstance(data_type, str) else data_type
    written = {"type": data_type, "is_null": value is None}
    if value is not None:
        written["value"] = value
    return node("BOUND_CONSTANT", "VALUE_CONSTANT") | {"value": written}


def compare(kind: str, left: Any, right: Any) -> dict[str, Any]:
    return node("BOUND_COMPARISON", f"COMPARE_{kind}") | {"left": left, "right": right}


def combine(kind: str, *children: Any) -> dict[str, Any]:
    return node("BOUND_CONJUNCTION", f"CONJUNCTION_{kind}") | {"children": list(children)}


def operator(kind: str, *children: Any, returns: str = "BOOLEAN") -> dict[str, Any]:
    below = {"return_type": type_of(returns), "children": list(children)}
    return node("BOUND_OPERATOR", kind) | below


def function(name: str, *children: Any, returns: Any = "BOOLEAN", **more: Any) -> dict[str, Any]:
    return node("BOUND_FUNCTION", "BOUND_FUNCTION") | {
        "return_type": type_of(returns) if isinstance(returns, str) else returns,
        "children": list(children),
        "name": name,
        "arguments": [],
        "original_arguments": [],
        "has_serialize": False,
        "is_operator": False,
        **more,
    }


def cast(child: Any, data_type: Any, *, is_try: bool = False) -> dict[str, Any]:
    data_type = type_of(data_type) if isinstance(data_type, str) else data_type
    below = {"child": child, "return_type": data_type, "try_cast": is_try}
    return node("BOUND_CAST", "OPERATOR_CAST") | below


def node(expression_class: str, kind: str) -> dict[str, Any]:
    return {
        "expression_class": expression_class,
        "type": kind,
        "alias": "",
        # 2**64 - 1, as a reader returns it that has only floating-point numbers.
        "query_location": 18446744073709552000,
    }


def document(*filters: Any, names: list[Any] | None = None) -> dict[str, Any]:
    return {
        "filters": list(filters),
        "column_binding_names_by_index": NAMES if names is None else names,
    }
