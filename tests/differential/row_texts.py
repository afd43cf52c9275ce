"""Functions of strings on one row."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


def _substring(text: str, start: int, count: int) -> str:
    first = start - 1 if start > 0 else len(text) + start if start else 0
    return "".join(each for place, each in enumerate(text) if first <= place < first + count)


def _padded(text: str, length: int, pad: str, left: bool) -> str:
    if len(text) >= length or not pad:
        return text[: max(length, 0)]
    padding = ""
    while len(padding) + len(text) < length:
        padding += pad[len(padding) % len(pad)]
    return padding + text if left else text + padding


def like(text: str, pattern: str) -> bool:
    """Evaluate LIKE with Spark's default escape character."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    expression = "".join({"%": ".*", "_": "."}.get(each, re.escape(each[-1])) for each in parts)
    return re.fullmatch(expression, text, re.DOTALL) is not None


def rlike(text: str, pattern: str) -> bool:
    """Evaluate RLIKE for patterns with the same meaning in Java and in Python."""
    return re.search(pattern, text) is not None


TEXTS: dict[str, Callable[..., Any]] = {
    "StartsWith": lambda text, prefix: text.startswith(prefix),
    "EndsWith": lambda text, suffix: text.endswith(suffix),
    "Contains": lambda text, part: part in text,
    "Like": like,
    "RLike": rlike,
    "Substring": _substring,
    "Concat": lambda *parts: "".join(parts),
    "Upper": str.upper,
    "Lower": str.lower,
    "StringTrim": lambda text: text.strip(" "),
    "StringTrimLeft": lambda text: text.lstrip(" "),
    "StringTrimRight": lambda text: text.rstrip(" "),
    "StringReplace": lambda text, old, new: text.replace(old, new) if old else text,
    "StringLPad": lambda text, length, pad: _padded(text, length, pad, left=True),
    "StringRPad": lambda text, length, pad: _padded(text, length, pad, left=False),
    "StringRepeat": lambda text, times: text * times,
    "Reverse": lambda text: text[::-1],
    "StringInstr": lambda text, part: text.find(part) + 1,
    "Length": len,
    "OctetLength": lambda text: len(text.encode()),
    "BitLength": lambda text: 8 * len(text.encode()),
}
