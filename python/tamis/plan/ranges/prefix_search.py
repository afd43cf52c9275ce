"""Find the range of strings in which a predicate can be true, by their prefixes.

The predicate is evaluated as over cells of numbers (plan.ranges.interval_search), but a cell holds
the strings that share a prefix. The strings that begin with p are p itself and, for each byte b,
those that begin with p || b, and these lie in ascending order. A cell for which the evaluation
proves that the predicate is true for no row is dropped. The first and the last of the remaining
cells are cut further. This gives the invariant:

    the predicate is true only for rows whose string is in the first possible cell, in the last
    one, or between them.

Every byte is tried, including those that cannot start a character, because Spark does not validate
what it reads. A bound that ends within a character is not an SQL constant, so it is cut back to
whole characters: a prefix of a lower bound is below it, and the successor of a prefix of an upper
bound is above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import Final

import numpy as np
import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, YES, Bounds
from tamis.evaluation.domain.spans import successor
from tamis.evaluation.interpreter import truth
from tamis.expr.nodes import Column, Expr
from tamis.plan.ranges.interval_search import MadeUp, can_be_true_of_null

__all__ = ["Texts", "possible_texts", "whole_characters"]

#: The most bytes of a bound. A longer prefix rules out little more.
_LONGEST: Final = 16
#: Rounds of cutting. There are more than bytes because a cell may be possible and none of its
#: pieces.
_ROUNDS: Final = 256
#: Bounds beyond these rule out no ordinary text, only control characters and the last plane.
_FIRST_TEXT: Final = " "
_LAST_TEXT: Final = b"\xf4"


@dataclass(frozen=True, slots=True)
class Texts:
    """The strings from `lower` to `upper`.

    None means unbounded on that side. With `upper_open`, the range excludes `upper`.
    """

    lower: str | None
    upper: str | None
    upper_open: bool


@dataclass(frozen=True, slots=True)
class _Cell:
    """The strings that begin with `prefix` followed by one of the bytes in `then`.

    If `then` is None, anything or nothing may follow. If it is empty, the cell holds only `prefix`.
    """

    prefix: bytes
    then: range | None

    @property
    def lower(self) -> bytes:
        return self.prefix + bytes(self.then[:1] if self.then else ())

    @property
    def is_alone(self) -> bool:
        return self.then is not None and not self.then

    @property
    def upper(self) -> bytes | None:
        """The string that all strings of the cell are below; None if there is none.

        For a cell of a single string it is that string, and inclusive.
        """
        if self.is_alone:
            return self.prefix
        return successor(self.prefix + bytes(self.then[-1:] if self.then else ()))

    @property
    def pieces(self) -> list[_Cell]:
        """The pieces of the cell in ascending order: first by four bits, then by four more."""
        if self.then is not None:
            return [_Cell(self.prefix + bytes([byte]), None) for byte in self.then]
        groups = [range(start, start + 16) for start in range(0, 256, 16)]
        return [_Cell(self.prefix, each) for each in (range(0), *groups)]

    @property
    def is_settled(self) -> bool:
        """Whether cutting the cell would give no other bound, or none that is worth the work."""
        if self.then is not None:
            return self.is_alone
        return len(self.prefix) >= _LONGEST or self.prefix.endswith((b"\0", b"\xff"))


def possible_texts(expr: Expr, column: Column) -> Texts | None:
    """Return the range of strings in which the predicate may be true.

    Returns:
        None if no bound is worth a filter, if the predicate may be true where the column is NULL,
        or if it is never true.

    >>> import tamis.evaluation.nodes.operators  # fills the registries
    >>> from tamis.expr.nodes import Call, Compare, Comparison, Literal
    >>> from tamis.expr.types import INTEGER, STRING
    >>> mode = Column(("mode",), STRING)
    >>> first = Call("Substring", (mode, Literal(1, INTEGER), Literal(2, INTEGER)), (), STRING)
    >>> possible_texts(Compare(Comparison.EQUAL, first, Literal("MA", STRING)), mode)
    Texts(lower='MA', upper='MB', upper_open=True)
    """
    if can_be_true_of_null(expr, column):
        return None
    cells = _possible(expr, column, _Cell(b"", None).pieces)
    # The possible cells with the outermost one last, from below and from above.
    from_below, from_above = cells[::-1], cells
    for _ in range(_ROUNDS):
        if from_below and not from_below[-1].is_settled:
            from_below.extend(reversed(_possible(expr, column, from_below.pop().pieces)))
        elif from_above and not from_above[-1].is_settled:
            from_above.extend(_possible(expr, column, from_above.pop().pieces))
        else:
            break
    if not (from_below and from_above):
        return None
    lower = _lower_text(from_below[-1])
    upper, is_open = _upper_text(from_above[-1])
    return None if lower is None and upper is None else Texts(lower, upper, is_open)


def _possible(expr: Expr, column: Column, cells: list[_Cell]) -> list[_Cell]:
    """Return the cells in which the predicate may be true."""
    lower = pa.array([cell.lower for cell in cells], pa.large_binary())
    # null means not known: no string is above all that begin with 0xFF.
    upper = pa.array([cell.upper for cell in cells], pa.large_binary())
    is_open = np.array([not cell.is_alone for cell in cells])
    known = Bounds(column.type, lower, upper, NO, NO, YES, upper_open=is_open)
    flags = truth(expr, MadeUp(column, known, len(cells))).can_be_true
    return list(compress(cells, np.broadcast_to(flags, len(cells)).tolist()))


def _lower_text(cell: _Cell) -> str | None:
    text = whole_characters(cell.lower).rstrip("\0")
    return text if text >= _FIRST_TEXT else None


def _upper_text(cell: _Cell) -> tuple[str | None, bool]:
    text = whole_characters(cell.prefix)
    begin = text.encode()
    if cell.is_alone and begin == cell.prefix:
        return text, False
    # If the successor is not text, that of a shorter prefix is used, which is greater.
    while begin:
        above = successor(begin)
        if above is None or above >= _LAST_TEXT:
            return None, False
        if len(whole_characters(above).encode()) == len(above):
            return above.decode(), True
        begin = begin[:-1]
    return None, False


def whole_characters(prefix: bytes) -> str:
    """Return the longest prefix of the bytes that is valid UTF-8."""
    try:
        return prefix.decode()
    except UnicodeDecodeError as error:
        return prefix[: error.start].decode()
