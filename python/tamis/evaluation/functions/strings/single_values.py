"""Lengths, and functions of strings that are computed where all strings of a file are the same one.

length(x)    at least 1 where x is not empty
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, Bounds
from tamis.evaluation.domain.interval import Interval, Numbers, result
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.functions.strings.byte_rows import is_ascii, lengths_of
from tamis.evaluation.functions.strings.string_parts import beginning
from tamis.evaluation.functions.strings.text import of_points, point_rows, text_result
from tamis.evaluation.interpreter import ValueRule, value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call, Literal
from tamis.expr.types import BINARY, INTEGER, STRING

__all__ = [
    "ENTRIES",
    "characters",
    "length",
    "octets",
    "of_one_string",
    "padded_left",
    "padded_right",
    "position",
    "repeated",
    "replaced",
]

#: Longer results are not computed; nothing is known of them.
_LONGEST = 4_000


def of_one_string(function: Callable[..., str | None]) -> ValueRule:
    """Return the rule of a function of a string and constants, for containers of a single string.

    `function` takes the string and the constants. It returns None if it does not know the result.
    """

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        operands = _with_constants(call, statistics)
        if operands is None or call.type != STRING:
            return None
        x, constants = operands
        cells = of_points(x, lambda text: function(text, *constants))
        return text_result(STRING, cells, cells, x)

    return rule


def _with_constants(call: Call, statistics: Statistics) -> tuple[Bounds, list[Any]] | None:
    if not call.arguments:
        return None
    x = value(call.arguments[0], statistics)
    constants = [each.value for each in call.arguments[1:] if isinstance(each, Literal)]
    if x is None or x.type != STRING or len(constants) < len(call.arguments) - 1:
        return None
    return None if None in constants else (x, constants)


def replaced(text: str, search: str, replacement: str = "") -> str:
    """replace(text, search, replacement). An empty search string changes nothing.

    >>> replaced("aaa", "aa", "b"), replaced("ab", "", "x")
    ('ba', 'ab')
    """
    return text.replace(search, replacement) if search else text


def padded_left(text: str, length: int, pad: str = " ") -> str | None:
    """lpad(text, length, pad).

    >>> padded_left("ab", 5, "xy"), padded_left("abc", 2, "x"), padded_left("a", 3, "")
    ('xyxab', 'ab', 'a')
    """
    padding = _padding(text, length, pad)
    return None if padding is None else padding + text[: max(length, 0)]


def padded_right(text: str, length: int, pad: str = " ") -> str | None:
    """rpad(text, length, pad)."""
    padding = _padding(text, length, pad)
    return None if padding is None else text[: max(length, 0)] + padding


def _padding(text: str, length: int, pad: str) -> str | None:
    missing = max(length - len(text), 0)
    return None if missing > _LONGEST else (pad * missing)[:missing]


def repeated(text: str, times: int) -> str | None:
    """repeat(text, times)."""
    return None if times * len(text) > _LONGEST else text * max(times, 0)


def position(call: Call, statistics: Statistics) -> Bounds | None:
    """instr(x, part): the position of the first occurrence, in characters from 1; 0 if none."""
    operands = _with_constants(call, statistics)
    if operands is None or len(operands[1]) != 1 or call.type != INTEGER:
        return None
    x, (part,) = operands
    positions = of_points(x, lambda text: str(text.find(part) + 1)).cast(pa.large_string())
    known = positions.is_valid().to_numpy(zero_copy_only=False)
    value_at = pc.fill_null(positions.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return _whole(x, np.where(known, value_at, 0), np.where(known, value_at, INTEGER.domain[1]))


def length(measure: Callable[[pa.Array], Numbers], factor: int = 1) -> ValueRule:
    """Return the rule of length, octet_length or bit_length.

    Args:
        measure: Counts the characters or bytes of each string.
        factor: Multiplies the counts: 8 for bits.
    """

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        x = value(call.arguments[0], statistics) if len(call.arguments) == 1 else None
        if x is None or x.type not in (STRING, BINARY) or call.type != INTEGER:
            return None
        count = 1 if x.lower is None else len(x.lower)
        lower = np.zeros(count, np.int64)
        upper = np.full(count, INTEGER.domain[1], np.int64)
        if x.lower is not None:
            # Values are not below a nonempty lower edge, so they are not empty.
            lower[lengths_of(x.lower) > 0] = factor
            rows = point_rows(x)
            # The length of BINARY is counted in bytes, not in characters.
            counted = octets if x.type == BINARY else measure
            lower[rows] = upper[rows] = factor * counted(x.lower.take(pa.array(rows)))
        return _whole(x, lower, upper)

    return rule


def _whole(x: Bounds, lower: Numbers, upper: Numbers) -> Bounds:
    ends = np.array([0]), np.array([0])
    source = Interval(INTEGER, *ends, np.array([True]), x.can_be_null, NO, x.can_be_value)
    return result(INTEGER, lower, upper, source)


def octets(values: pa.Array) -> Numbers:
    """Return how many bytes each value has."""
    return lengths_of(values)


def characters(values: pa.Array) -> Numbers:
    """Return how many characters each value has."""
    counts = lengths_of(values)
    beyond = np.flatnonzero(~is_ascii(values))
    texts = values.take(pa.array(beyond)).to_pylist()
    return _with(counts, beyond, [0 if text is None else _characters(text) for text in texts])


def _with(counts: Numbers, rows: Numbers, cells: list[int]) -> Numbers:
    merged = counts.copy()
    merged[rows] = cells
    return merged


def _characters(text: bytes) -> int:
    """Return the number of characters as Spark counts them: by their first bytes."""
    count = position = 0
    while position < len(text):
        position += len(beginning(text[position : position + 4], 1))
        count += 1
    return count


ENTRIES: Final = (
    FunctionEntry(
        "StringReplace", "replace", Knowledge.POINT, of_one_string(replaced), never_raises=True
    ),
    FunctionEntry("StringLPad", "lpad", Knowledge.POINT, of_one_string(padded_left)),
    FunctionEntry("StringRPad", "rpad", Knowledge.POINT, of_one_string(padded_right)),
    FunctionEntry("StringRepeat", "repeat", Knowledge.POINT, of_one_string(repeated)),
    FunctionEntry(
        "Reverse",
        "reverse",
        Knowledge.POINT,
        of_one_string(lambda text: text[::-1]),
        never_raises=True,
    ),
    FunctionEntry("StringInstr", "instr", Knowledge.POINT, position, never_raises=True),
    FunctionEntry("Length", "length", Knowledge.POINT, length(characters), never_raises=True),
    FunctionEntry(
        "OctetLength", "octet_length", Knowledge.POINT, length(octets), never_raises=True
    ),
    FunctionEntry(
        "BitLength", "bit_length", Knowledge.POINT, length(octets, factor=8), never_raises=True
    ),
)
