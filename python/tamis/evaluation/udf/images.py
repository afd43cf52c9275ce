"""The image of bounds under a declared function, according to its contract.

    monotone    x in [l, u]  ->  f(x) in [f(l), f(u)]; in [f(u), f(l)] if f is decreasing
    image       x in [l, u]  ->  f(x) in image(l, u)
    NULL, NaN   single values: f(NULL) and f(NaN) are added to the hull

NaN is the greatest value, as in Spark: where the upper edge of f is known, no f(x) is NaN.

Nothing is known where the function raises, does not return in time, or returns something that is
not a value of its type. The same holds where it contradicts its contract; a warning reports this
once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.domain.distinct_edges import Codes, distinct_edges, spread
from tamis.evaluation.domain.flags import any_of
from tamis.evaluation.domain.hull import hull
from tamis.evaluation.udf.python_values import MARGIN, NotAValue, from_python, to_python
from tamis.evaluation.udf.udf_contract import Contract
from tamis.evaluation.udf.udf_guard import Answers, UdfGuard
from tamis.expr.types import DataType

__all__ = ["Declared", "Images"]

_LOWER, _POINT, _UPPER = -1, 0, 1
_NULL, _NAN = "NULL", "NaN"
#: An edge for which the function gave no answer. It is not called for an unknown edge (None).
_FAILED: Final = object()


class Declared:
    """A contract in force, and the answers of its function so far."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self._answers: dict[tuple[object, ...], Answers] = {}

    def answers(self, *key: object) -> Answers:
        """Return the answers for these types and constants."""
        return self._answers.setdefault(key, Answers(self.contract.name))


@dataclass(frozen=True, slots=True)
class Images:
    """The images of bounds of one type under a declared function with given constants."""

    declared: Declared
    argument_type: DataType
    result_type: DataType
    constants: tuple[Any, ...]
    watch: UdfGuard

    def of(self, bounds: Bounds) -> Bounds:
        """Return the bounds of f(x) from the bounds of x. f(x) may always be NULL."""
        with self.watch as in_time:
            return self._of(bounds) if in_time else Bounds.unknown(self.result_type)

    def _of(self, bounds: Bounds) -> Bounds:
        of_values = self._of_range if self._contract.image is not None else self._of_edges
        parts = [
            (of_values(bounds), bounds.can_be_value),
            (self._of_null(bounds.can_be_null), bounds.can_be_null),
            (self._of_nan(bounds.can_be_nan), bounds.can_be_nan),
        ]
        return replace(hull(self.result_type, parts), can_be_null=YES)

    @property
    def _contract(self) -> Contract:
        return self.declared.contract

    # ---- the ordinary values ----

    def _of_edges(self, bounds: Bounds) -> Bounds:
        """Return the bounds [f(l), f(u)], or [f(u), f(l)] if f is decreasing."""
        ends = []
        for side, name in ((_LOWER, "lower"), (_UPPER, "upper")):
            values, codes = distinct_edges(bounds, name)
            questions = [None if each is None else self._question(side, each) for each in values]
            answered = self._ask([each for each in questions if each is not None], self._edge)
            ends.append(
                ([None if q is None else answered.get(q, _FAILED) for q in questions], codes)
            )
        failed = any_of(_is_failed(values)[codes] for values, codes in ends)
        if self.result_type.name in _WRAPPING:
            # f is not bounded on the side of an unknown edge, so it may wrap around to any value.
            failed = any_of((failed, *(_is_unknown(values)[codes] for values, codes in ends)))
        lower, upper = ends if self._contract.increasing else reversed(ends)
        return self._bounds(bounds, lower, upper, failed)

    def _of_range(self, bounds: Bounds) -> Bounds:
        """Return the bounds image(l, u), where both edges are known."""
        (lows, low_codes), (highs, high_codes) = (
            distinct_edges(bounds, name) for name in ("lower", "upper")
        )
        pairs, codes = np.unique(
            np.atleast_1d(low_codes * len(highs) + high_codes), return_inverse=True
        )
        ranges = [(lows[pair // len(highs)], highs[pair % len(highs)]) for pair in pairs.tolist()]
        questions = [
            None
            if None in each
            else (self._question(_LOWER, each[0]), self._question(_UPPER, each[1]))
            for each in ranges
        ]
        answered = self._ask([each for each in questions if each is not None], self._range)
        images = [(None, None) if q is None else answered.get(q, (None, None)) for q in questions]
        lower, upper = ([each[end] for each in images] for end in (0, 1))
        return self._bounds(bounds, (lower, codes), (upper, codes), NO)

    def _bounds(
        self,
        given: Bounds,
        lower: tuple[list[Any], Codes],
        upper: tuple[list[Any], Codes],
        failed: Flags,
    ) -> Bounds:
        data_type = self.result_type
        low, high = (
            spread([None if v is _FAILED else v for v in values], codes, data_type, is_lower)
            for (values, codes), is_lower in ((lower, True), (upper, False))
        )
        count = max(len(low), len(high), len(failed))
        codes = np.zeros(count, np.int64)
        low, high = (each.take(codes) if len(each) == 1 else each for each in (low, high))
        if isinstance(low, np.ndarray):
            contradicts: Flags = low > high
        else:
            crossed = pc.greater(low, high).fill_null(False)
            contradicts = crossed.to_numpy(zero_copy_only=False)
        contradicts = contradicts & given.can_be_value & ~failed
        if contradicts.any():
            self._say_refuted()
        # NaN is the greatest value: where the upper edge is known, f(x) is not NaN.
        values, codes = upper
        nan = np.array([v is None or v is _FAILED for v in values], np.bool_)[codes]
        known = Bounds(data_type, low, high, NO, nan if data_type.is_floating else NO, YES)
        return hull(data_type, [(known, YES), (self._unknown(), failed | contradicts)])

    def _say_refuted(self) -> None:
        name = self._contract.name
        self.watch.warn(
            f"declaration_refuted:{name}",
            f"the contract of {name} is wrong: for some values its bounds contradict each other. "
            "tamis ignores the contract for these values, but for other values, queries may lose "
            f"rows. Correct the contract, and declare {name} again (docs/declared_functions.md).",
        )

    # ---- NULL and NaN ----

    def _of_null(self, possible: Flags) -> Bounds:
        if self._contract.null_to_null or not possible.any():
            return self._only_null()
        if self._contract.monotone is None:
            return self._unknown()
        return self._of_point(_NULL)

    def _of_nan(self, possible: Flags) -> Bounds:
        return self._of_point(_NAN) if possible.any() else self._only_null()

    def _of_point(self, point: str) -> Bounds:
        answer = self._ask([(_POINT, point)], self._point).get((_POINT, point))
        if answer is None:
            return self._unknown()
        if answer is _NULL:
            return self._only_null()
        if answer is _NAN:
            return replace(self._only_null(), can_be_nan=YES)
        return self._single(*answer)

    def _unknown(self) -> Bounds:
        """Return unknown bounds with edges: in a hull, None makes an edge unknown everywhere."""
        return self._single(None, None)

    def _single(self, lower: Any, upper: Any) -> Bounds:
        codes = np.zeros(1, np.int64)
        low = spread([lower], codes, self.result_type, is_lower=True)
        high = spread([upper], codes, self.result_type, is_lower=False)
        nan = YES if upper is None and self.result_type.is_floating else NO
        return Bounds(self.result_type, low, high, NO, nan, YES)

    def _only_null(self) -> Bounds:
        return Bounds(self.result_type, None, None, YES, NO, NO)

    # ---- calls of the function; a call that raises gives no answer ----

    def _question(self, side: int, edge: Any) -> tuple[int, Any]:
        """Return the side and the edge; a zero becomes -0.0 as lower and 0.0 as upper edge.

        A function may distinguish the two zeros, and the bounds have to cover both.
        """
        if edge == 0 and self.argument_type.is_floating:
            return side, math.copysign(0.0, side)
        return side, edge

    def _ask(self, questions: list[Any], answer: Callable[[Any], Any]) -> dict[Any, Any]:
        key = (self.argument_type, self.result_type, repr(self.constants))
        return self.declared.answers(*key).of(questions, answer, self.watch)

    def _edge(self, question: tuple[int, Any]) -> Any:
        side, _ = question
        assert self._contract.monotone is not None
        given = self._contract.monotone(*self._arguments(self._value(question)))
        # The lower edge of x gives the lower edge of f(x), unless f is decreasing.
        return from_python(given, self.result_type, side if self._contract.increasing else -side)

    def _range(self, question: tuple[tuple[int, Any], tuple[int, Any]]) -> tuple[Any, Any]:
        return self._image(self._value(question[0]), self._value(question[1]))

    def _point(self, question: tuple[int, str]) -> Any:
        point = math.nan if question[1] == _NAN else None
        if self._contract.monotone is None:
            return self._image(point, point)
        given = self._contract.monotone(*self._arguments(point))
        if given is None:
            return _NULL
        if given != given:
            return _NAN
        lower, upper = (from_python(given, self.result_type, side) for side in (_LOWER, _UPPER))
        return lower, upper

    def _image(self, lower: Any, upper: Any) -> tuple[Any, Any]:
        assert self._contract.image is not None
        given = self._contract.image(lower, upper, *self.constants)
        low, high = (None, None) if given is None else given
        return (
            None if low is None else from_python(low, self.result_type, _LOWER),
            None if high is None else from_python(high, self.result_type, _UPPER),
        )

    def _value(self, question: tuple[int, Any]) -> Any:
        side, edge = question
        value = to_python(edge, self.argument_type)
        if self.argument_type.name != "timestamp":
            return value
        try:
            return value + side * MARGIN
        except OverflowError as error:
            raise NotAValue from error

    def _arguments(self, varying: Any) -> tuple[Any, ...]:
        place = self._contract.argument
        return (*self.constants[:place], varying, *self.constants[place:])


#: Spark truncates an integer that a Python function returns to the bits of these types.
_WRAPPING: Final = ("byte", "short", "integer")


def _is_unknown(values: list[Any]) -> Flags:
    return np.array([each is None for each in values], np.bool_)


def _is_failed(values: list[Any]) -> Flags:
    return np.array([each is _FAILED for each in values], np.bool_)
