"""Parse the JSON text of a document, and check the shapes of its parts; a small example."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["EXAMPLE", "NotUnderstood", "children", "mapping", "parse", "require", "text"]

#: A string, or a bare word for a floating-point value, which is not JSON: DuckDB writes NaN, NAN
#: and Infinity.
_TOKENS: Final = re.compile(
    r'"(?:[^"\\]|\\.)*"|(?P<sign>-?)\b(?:(?P<nan>nan)|inf(?:inity)?)\b', re.IGNORECASE | re.DOTALL
)


class NotUnderstood(ValueError):
    """The shape, type or meaning of a node is not certain."""


def parse(document: str | bytes) -> Any:
    """Parse JSON text that may contain NaN and Infinity in any spelling.

    Raises:
        ValueError: The text is not JSON.

    >>> parse('[NAN, -Infinity, "nan"]')
    [nan, -inf, 'nan']
    """
    if isinstance(document, bytes):
        document = document.decode()
    return json.loads(_TOKENS.sub(_spelled_as_python_does, document))


def _spelled_as_python_does(token: re.Match[str]) -> str:
    if token[0].startswith('"'):
        return token[0]
    return "NaN" if token["nan"] else token["sign"] + "Infinity"


def require(condition: bool) -> None:
    if not condition:
        raise NotUnderstood


def mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise NotUnderstood
    return value


def text(value: object) -> str:
    if not isinstance(value, str):
        raise NotUnderstood
    return value


def children(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise NotUnderstood
    return value


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


#: title = 'Y Combinator' AND score > 500, for docstrings.
EXAMPLE: Final = {
    "filters": [
        _comparison("COMPARE_EQUAL", 0, "VARCHAR", "Y Combinator"),
        _comparison("COMPARE_GREATERTHAN", 1, "FLOAT", 500),
    ],
    "column_binding_names_by_index": ["title", "score"],
}
