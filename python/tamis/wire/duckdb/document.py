"""JSON text of a document, and the shapes that its parts must have."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["NotUnderstood", "children", "mapping", "parse", "require", "text"]

#: A string, or a bare word for a floating value that is no JSON: DuckDB writes NaN, NAN, Infinity.
_TOKENS: Final = re.compile(
    r'"(?:[^"\\]|\\.)*"|(?P<sign>-?)\b(?:(?P<nan>nan)|inf(?:inity)?)\b', re.IGNORECASE | re.DOTALL
)


class NotUnderstood(ValueError):
    """A node whose shape, type or meaning is not one that we can be sure of."""


def parse(document: str | bytes) -> Any:
    """Read JSON text that may hold NaN and Infinity, in any spelling; ValueError if it is no JSON.

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
