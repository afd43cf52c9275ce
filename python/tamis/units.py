"""Times and sizes as Spark's confs spell them, such as 5s and 64m.

The grammar is that of org.apache.spark.network.util.JavaUtils: a whole number and a unit, in any
case, without a space between them. A number without a unit has the default unit of the conf.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["to_bytes", "to_milliseconds"]

_SECOND: Final = 1_000_000
_MICROSECONDS: Final = {
    "us": 1,
    "ms": 1_000,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "min": 60 * _SECOND,
    "h": 3_600 * _SECOND,
    "d": 86_400 * _SECOND,
}
_BYTES: Final = {"b": 1} | {
    suffix: 1 << 10 * power
    for power, letter in enumerate("kmgtp", start=1)
    for suffix in (letter, f"{letter}b")
}
_LONGEST: Final = (1 << 63) - 1


def to_milliseconds(text: str, default_unit: str) -> int | None:
    """Return a time in milliseconds, without the fraction; None if the text is not a time.

    >>> to_milliseconds("5s", "ms"), to_milliseconds("90", "d"), to_milliseconds("5 s", "ms")
    (5000, 7776000000, None)
    """
    parts = _parts(r"(-?[0-9]+)([a-z]+)?", text, default_unit)
    if parts is None or parts[1] not in _MICROSECONDS:
        return None
    microseconds = parts[0] * _MICROSECONDS[parts[1]]
    # toward zero, and at most a long, as java.util.concurrent.TimeUnit converts
    milliseconds = min(abs(microseconds) // 1_000, _LONGEST)
    return milliseconds if microseconds >= 0 else -milliseconds


def to_bytes(text: str, default_unit: str) -> int | None:
    """Return a size in bytes; None if the text is not a size.

    >>> to_bytes("64m", "b"), to_bytes("64", "m"), to_bytes("1.5g", "b")
    (67108864, 67108864, None)
    """
    parts = _parts(r"([0-9]+)([a-z]+)?", text, default_unit)
    if parts is None or parts[1] not in _BYTES:
        return None
    size = parts[0] * _BYTES[parts[1]]
    return size if size <= _LONGEST else None


def _parts(pattern: str, text: str, default_unit: str) -> tuple[int, str] | None:
    match = re.fullmatch(pattern, text.strip().lower())
    if match is None:
        return None
    number = int(match[1])
    return (number, match[2] or default_unit) if abs(number) <= _LONGEST else None
