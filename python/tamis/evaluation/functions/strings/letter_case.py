"""upper and lower, for ASCII, where the case of a letter does not depend on its neighbors.

one string         the mapped string, if it is pure ASCII: Spark then maps bytes, without a locale
several strings    the results share the mapped common prefix of the strings, up to the first
                   non-ASCII byte, and up to the first i, whose case depends on the locale of the
                   JVM if a string is not pure ASCII
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.functions.strings.byte_rows import (
    Rows,
    is_ascii,
    shared_beginning,
    strings_of,
)
from tamis.evaluation.functions.strings.text import text_result
from tamis.evaluation.interpreter import ValueRule, value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call
from tamis.expr.types import STRING

__all__ = ["ENTRIES", "case_mapped"]

#: At most this many bytes of the common prefix are used.
_WIDTH = 64


def case_mapped(to_upper: bool) -> ValueRule:
    """Return the rule of upper or lower."""
    table = np.array(
        [ord(chr(byte).upper() if to_upper else chr(byte).lower()) for byte in range(128)]
    )
    letters: Rows = table.astype(np.uint8)
    of_strings = pc.ascii_upper if to_upper else pc.ascii_lower

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        x = value(call.arguments[0], statistics) if len(call.arguments) == 1 else None
        if x is None or x.type != STRING or x.lower is None or x.upper is None:
            return None
        if len(x.lower) != len(x.upper):
            return None
        one = pc.fill_null(pc.equal(x.lower, x.upper), False)
        single = pc.and_(one, pa.array(is_ascii(x.lower)))
        whole = of_strings(x.lower.view(pa.large_string())).view(pa.large_binary())
        if pc.all(single).as_py():
            return text_result(STRING, whole, whole, x)
        rows, shared = shared_beginning(x.lower, x.upper, _WIDTH, x.upper_open)
        stops = (rows >= 0x80) | (rows == ord("i")) | (rows == ord("I"))
        shared = np.where(stops.any(axis=1), np.minimum(shared, stops.argmax(axis=1)), shared)
        known = pc.and_(pc.is_valid(x.lower), pc.is_valid(x.upper)).to_numpy(zero_copy_only=False)
        mapped = letters[rows & 0x7F]
        lower = strings_of(mapped, shared, known)
        # The upper edge is exclusive: the successor of the mapped prefix. The last byte of a prefix
        # is ASCII, so adding 1 does not overflow. An empty prefix has no successor.
        last = np.flatnonzero(shared)
        mapped[last, shared[last] - 1] += 1
        upper = strings_of(mapped, shared, known & (shared > 0))
        is_open = known & (shared > 0) & ~single.to_numpy(zero_copy_only=False)
        return text_result(
            STRING,
            pc.if_else(single, whole, lower),
            pc.if_else(single, whole, upper),
            x,
            upper_open=is_open,
        )

    return rule


ENTRIES: Final = (
    FunctionEntry(
        "Upper", "upper", Knowledge.PREFIX, case_mapped(to_upper=True), never_raises=True
    ),
    FunctionEntry(
        "Lower", "lower", Knowledge.PREFIX, case_mapped(to_upper=False), never_raises=True
    ),
)
