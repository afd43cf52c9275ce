"""The kinds of statistics that rule out files for a conjunct are told apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from tamis.evaluate.domain.bounds import YES, Bounds, Edge, Flags
from tamis.evaluate.example import FILES
from tamis.evaluate.recorded import Members
from tamis.evaluate.statistics import Statistics
from tamis.expr.nodes import Column, Compare, Comparison, Literal
from tamis.expr.types import LONG
from tamis.plan.detail.pruning_effects import effects
from tamis.plan.scan import Segment

COLUMN = Column(("c",), LONG)


@dataclass(frozen=True)
class Found:
    """Members of one kind that hold nothing in these files."""

    kind: str
    nowhere: tuple[bool, ...]

    def may_match(self, options: Edge) -> Flags:
        return ~np.array(self.nowhere)

    def may_miss(self, options: Edge) -> Flags:
        return YES

    def parts(self) -> Mapping[str, Members]:
        return {self.kind: self}

    def slice(self, start: int, stop: int) -> Members:
        return Found(self.kind, self.nowhere[start:stop])

    def take(self, ordinals: npt.NDArray[np.intp]) -> Members:
        return Found(self.kind, tuple(np.array(self.nowhere)[ordinals]))


@dataclass(frozen=True)
class Both(Found):
    """The same of both kinds; each knows what the other does not."""

    other: Members

    def may_match(self, options: Edge) -> Flags:
        return super().may_match(options) & self.other.may_match(options)

    def parts(self) -> Mapping[str, Members]:
        return {self.kind: Found(self.kind, self.nowhere), **self.other.parts()}

    def slice(self, start: int, stop: int) -> Members:
        return Both(self.kind, self.nowhere[start:stop], self.other.slice(start, stop))

    def take(self, ordinals: npt.NDArray[np.intp]) -> Members:
        left = tuple(np.array(self.nowhere)[ordinals])
        return Both(self.kind, left, self.other.take(ordinals))


@dataclass(frozen=True)
class Recorded(Statistics):
    """The example with members of its column."""

    whole: Statistics
    found: Members | None

    @property
    def num_containers(self) -> int:
        return self.whole.num_containers

    def bounds(self, column: Column) -> Bounds:
        return self.whole.bounds(column)

    def empty(self) -> Flags | None:
        return self.whole.empty()

    def members(self, subject: object) -> Members | None:
        return self.found

    def slice(self, start: int, stop: int) -> Recorded:
        return Recorded(self.whole.slice(start, stop), self.found and self.found.slice(start, stop))

    def take(self, ordinals: npt.NDArray[np.intp]) -> Recorded:
        return Recorded(self.whole.take(ordinals), self.found and self.found.take(ordinals))


def equal(value: int) -> Compare:
    return Compare(Comparison.EQUAL, COLUMN, Literal(value, LONG))


ALL_OF = (True, True, True, True)


@pytest.mark.parametrize(
    ("members", "kinds"),
    [
        (None, ("bounds",)),
        (Found("bloom", (False,) * 4), ("bounds",)),
        (Found("bloom", ALL_OF), ("bounds", "bloom")),
        (Found("values", ALL_OF), ("bounds", "values")),
        (Both("values", ALL_OF, Found("bloom", ALL_OF)), ("bounds", "values", "bloom")),
        (Both("values", ALL_OF, Found("bloom", (False,) * 4)), ("bounds", "values")),
        (Both("values", (False,) * 4, Found("bloom", ALL_OF)), ("bounds", "bloom")),
    ],
)
def test_kinds_that_decided(members: Members | None, kinds: tuple[str, ...]) -> None:
    statistics = Recorded(FILES, members)
    (effect,) = effects([equal(6)], [Segment(slice(0, 4), statistics)], 4)
    assert effect.kinds == kinds


def test_what_prunes_nothing_has_no_kind() -> None:
    anything = Compare(Comparison.NOT_EQUAL, COLUMN, Literal(1_000, LONG))
    (effect,) = effects([anything], [Segment(slice(0, 4), FILES)], 4)
    assert effect.kinds == ()
