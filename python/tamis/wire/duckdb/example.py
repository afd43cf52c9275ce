"""A small document for docstrings: title = 'Y Combinator' AND score > 500."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["DOCUMENT"]


def _comparison(operator: str, index: int, name: str, value: str | float) -> dict[str, Any]:
    data_type = {"id": name, "type_info": None}
    return {
        "expression_class": "BOUND_COMPARISON",
        "type": operator,
        "left": {
            "expression_class": "BOUND_COLUMN_REF",
            "type": "BOUND_COLUMN_REF",
            "return_type": data_type,
            "binding": {"table_index": 0, "column_index": index},
            "depth": 0,
        },
        "right": {
            "expression_class": "BOUND_CONSTANT",
            "type": "VALUE_CONSTANT",
            "value": {"type": data_type, "is_null": False, "value": value},
        },
    }


DOCUMENT: Final = {
    "filters": [
        _comparison("COMPARE_EQUAL", 0, "VARCHAR", "Y Combinator"),
        _comparison("COMPARE_GREATERTHAN", 1, "FLOAT", 500),
    ],
    "column_binding_names_by_index": ["title", "score"],
}
