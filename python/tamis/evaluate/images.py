"""The image of an interval under a function of the user: what its contract promises.

    monotone    x in [l, u]  ->  f(x) in [f(l), f(u)]; of one that falls, in [f(u), f(l)]
    image       x in [l, u]  ->  f(x) in image(l, u)
    NULL, NaN   single values: f(NULL) and f(NaN) join the rest

Where the function raises, is late, or gives what is no value of its type, nothing is known. Nor
where it contradicts its contract, which is said once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from tamis.evaluate.contract import Contract
from tamis.evaluate.distinct import Cell
from tamis.evaluate.python_values import MARGIN, NotAValue, from_python, to_python
from tamis.evaluate.watch import Answers, Watch
from tamis.expr.types import DataType

__all__ = ["Declared", "Image", "Images"]

#: Lower edge, upper edge (None: not known), and whether there is an ordinary value at all.
Image: TypeAlias = tuple[Any, Any, bool]

_UNKNOWN: Final[Image] = (None, None, True)
_NO_VALUE: Final[Image] = (None, None, False)


class Declared:
    """A contract in force, with the answers that its function gave."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self._answers: dict[tuple[object, ...], Answers] = {}

    def answers(self, *key: object) -> Answers:
        """The answers for these types and constants."""
        return self._answers.setdefault(key, Answers(self.contract.name))


class _Question(NamedTuple):
    """`text` tells what equality does not: -0.0 from 0.0, and lets NaN be itself."""

    kind: str  # "lower", "upper": an edge for `monotone`. "range": for `image`. "point": f of one x
    text: str
    lower: Any
    upper: Any


class Images:
    """Images of intervals of one type, with the same constants."""

    def __init__(
        self,
        declared: Declared,
        argument_type: DataType,
        result_type: DataType,
        constants: tuple[Any, ...],
        watch: Watch,
    ) -> None:
        self._contract = declared.contract
        self._answers = declared.answers(argument_type, result_type, repr(constants))
        self._type, self._result_type = argument_type, result_type
        self._constants, self._watch = constants, watch

    def of(self, cells: Sequence[Cell]) -> list[Image]:
        """The image of each cell."""
        asked = [list(self._questions(cell)) for cell in cells]
        everything = (question for questions in asked for question in questions)
        answered = self._answers.of(everything, self._answer, self._watch)
        return [
            self._joined(cell, [answered.get(question, _UNKNOWN) for question in questions])
            if all(question in answered for question in questions)
            else _UNKNOWN
            for cell, questions in zip(cells, asked, strict=True)
        ]

    def _questions(self, cell: Cell) -> Iterable[_Question]:
        lower, upper = cell.lower, cell.upper
        if self._type.is_floating:
            # -0.0 = 0.0, and yet f may tell them apart: from the lesser one to the greater one.
            lower, upper = (-0.0 if lower == 0 else lower), (0.0 if upper == 0 else upper)
        if cell.can_be_value and self._contract.image is not None:
            if lower is not None and upper is not None:
                yield _Question("range", repr((lower, upper)), lower, upper)
        elif cell.can_be_value:
            if lower is not None:
                yield _Question("lower", repr(lower), lower, None)
            if upper is not None:
                yield _Question("upper", repr(upper), None, upper)
        if cell.can_be_null and not self._contract.null_to_null and self._contract.monotone:
            yield _Question("point", "NULL", None, None)
        if cell.can_be_nan:
            yield _Question("point", "nan", math.nan, math.nan)

    def _joined(self, cell: Cell, answers: list[Image]) -> Image:
        """The hull of the answers, which are in the order of the questions."""
        rest = list(answers)
        images: list[Image] = []
        if cell.can_be_value:
            images.append(self._of_values(cell, rest))
        if cell.can_be_null and not self._contract.null_to_null and not self._contract.monotone:
            images.append(_UNKNOWN)
        images += rest
        some = [each for each in images if each[2]]
        if not some:
            return _NO_VALUE
        lowers, uppers = [each[0] for each in some], [each[1] for each in some]
        return (
            None if None in lowers else min(lowers),
            None if None in uppers else max(uppers),
            True,
        )

    def _of_values(self, cell: Cell, rest: list[Image]) -> Image:
        """The image of the ordinary values; takes their answers from the front of the rest."""
        if self._contract.image is not None:
            if cell.lower is None or cell.upper is None:
                return _UNKNOWN
            return self._consistent(cell, rest.pop(0))
        ends = [rest.pop(0) if edge is not None else _UNKNOWN for edge in (cell.lower, cell.upper)]
        first, last = ends if self._contract.increasing else reversed(ends)
        return self._consistent(cell, (first[0], last[1], True))

    def _consistent(self, cell: Cell, image: Image) -> Image:
        lower, upper, _ = image
        if lower is None or upper is None or lower <= upper:
            return image
        name = self._contract.name
        self._watch.warn(
            f"declaration_refuted:{name}",
            f"the contract of {name} does not hold between {cell.lower!r} and {cell.upper!r}, and "
            f"is not used there: declare {name} anew (docs/declared_functions.md).",
        )
        return _UNKNOWN

    def _answer(self, question: _Question) -> Image:
        """Ask the function. NotAValue, or whatever it raises: nothing is known."""
        if question.kind == "range" or (question.kind == "point" and self._contract.image):
            return self._of_range(question)
        assert self._contract.monotone is not None
        if question.kind == "point":
            return self._of_point(self._contract.monotone, question.lower)
        is_lower = question.kind == "lower"
        edge = self._edge(question.lower, -1) if is_lower else self._edge(question.upper, 1)
        given = self._contract.monotone(*self._arguments(edge))
        # The lower edge of x is the lower one of f(x), unless f falls.
        side = -1 if is_lower == self._contract.increasing else 1
        found = from_python(given, self._result_type, side)
        return found, found, True

    def _of_range(self, question: _Question) -> Image:
        assert self._contract.image is not None
        if question.kind == "point":
            lower = upper = math.nan
        else:
            lower, upper = self._edge(question.lower, -1), self._edge(question.upper, 1)
        given = self._contract.image(lower, upper, *self._constants)
        if given is None:
            return _UNKNOWN
        low, high = given
        return (
            None if low is None else from_python(low, self._result_type, -1),
            None if high is None else from_python(high, self._result_type, 1),
            True,
        )

    def _of_point(self, function: Any, point: Any) -> Image:
        given = function(*self._arguments(point))
        if given is None or given != given:
            return _NO_VALUE
        ends = [from_python(given, self._result_type, side) for side in (-1, 1)]
        return ends[0], ends[1], True

    def _edge(self, raw: Any, side: int) -> Any:
        found = to_python(raw, self._type)
        if self._type.name != "timestamp":
            return found
        try:
            return found + side * MARGIN
        except OverflowError as error:
            raise NotAValue from error

    def _arguments(self, varying: Any) -> tuple[Any, ...]:
        place = self._contract.argument
        return (*self._constants[:place], varying, *self._constants[place:])
