"""The kinds of statistics that rule out files for a conjunct."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from tamis.evaluation.domain.bounds import YES, Bounds, Edge, Flags
from tamis.evaluation.statistics import Members, Statistics
from tamis.expr.nodes import Column, Compare, Comparison, Evaluated, Literal, Opaque
from tamis.expr.outcomes import Outcome, Outcomes
from tamis.expr.types import LONG
from tamis.files.example import FILES
from tamis.files.segments import Segment
from tamis.plan.detail.pruning_effects import effects

COLUMN = Column(("c",), LONG)


@dataclass(frozen=True)
class SingleKind:
    """Members of one kind that have no value in the marked files."""

    kind: str
    nowhere: tuple[bool, ...]

    def may_match(self, options: Edge) -> Flags:
        return ~np.array(self.nowhere)

    def may_miss(self, options: Edge) -> Flags:
        return YES

    def distinct(self) -> None:
        return None

    def parts(self) -> Mapping[str, Members]:
        return {self.kind: self}

    def slice(self, start: int, stop: int) -> Members:
        return SingleKind(self.kind, self.nowhere[start:stop])

    def take(self, ordinals: npt.NDArray[np.intp]) -> Members:
        return SingleKind(self.kind, tuple(np.array(self.nowhere)[ordinals]))


@dataclass(frozen=True)
class TwoKinds(SingleKind):
    """Members of two kinds. Each may rule out files that the other does not."""

    other: Members

    def may_match(self, options: Edge) -> Flags:
        return super().may_match(options) & self.other.may_match(options)

    def parts(self) -> Mapping[str, Members]:
        return {self.kind: SingleKind(self.kind, self.nowhere), **self.other.parts()}

    def slice(self, start: int, stop: int) -> Members:
        return TwoKinds(self.kind, self.nowhere[start:stop], self.other.slice(start, stop))

    def take(self, ordinals: npt.NDArray[np.intp]) -> Members:
        rest = tuple(np.array(self.nowhere)[ordinals])
        return TwoKinds(self.kind, rest, self.other.take(ordinals))


@dataclass(frozen=True)
class Recorded(Statistics):
    """The example with members of its column."""

    whole: Statistics
    column_members: Members | None

    @property
    def num_containers(self) -> int:
        return self.whole.num_containers

    def bounds(self, column: Column) -> Bounds:
        return self.whole.bounds(column)

    def empty(self) -> Flags | None:
        return self.whole.empty()

    def members(self, subject: object) -> Members | None:
        return self.column_members

    def slice(self, start: int, stop: int) -> Recorded:
        return Recorded(
            self.whole.slice(start, stop),
            self.column_members and self.column_members.slice(start, stop),
        )

    def take(self, ordinals: npt.NDArray[np.intp]) -> Recorded:
        return Recorded(
            self.whole.take(ordinals), self.column_members and self.column_members.take(ordinals)
        )


def equal(value: int) -> Compare:
    return Compare(Comparison.EQUAL, COLUMN, Literal(value, LONG))


ALL_OF = (True, True, True, True)


@pytest.mark.parametrize(
    ("members", "kinds"),
    [
        (None, ("bounds",)),
        (SingleKind("bloom", (False,) * 4), ("bounds",)),
        (SingleKind("bloom", ALL_OF), ("bounds", "bloom")),
        (SingleKind("values", ALL_OF), ("bounds", "values")),
        (TwoKinds("values", ALL_OF, SingleKind("bloom", ALL_OF)), ("bounds", "values", "bloom")),
        (TwoKinds("values", ALL_OF, SingleKind("bloom", (False,) * 4)), ("bounds", "values")),
        (TwoKinds("values", (False,) * 4, SingleKind("bloom", ALL_OF)), ("bounds", "bloom")),
    ],
)
def test_effect_names_the_kinds_that_pruned(
    members: Members | None, kinds: tuple[str, ...]
) -> None:
    statistics = Recorded(FILES, members)
    (effect,) = effects([equal(6)], [Segment(slice(0, 4), statistics)], 4)
    assert effect.kinds == kinds


def test_conjunct_that_prunes_nothing_has_no_kind() -> None:
    anything = Compare(Comparison.NOT_EQUAL, COLUMN, Literal(1_000, LONG))
    (effect,) = effects([anything], [Segment(slice(0, 4), FILES)], 4)
    assert effect.kinds == ()


def test_evaluated_values_are_a_kind_of_their_own() -> None:
    outcomes = Outcomes(
        LONG, np.array([3, 4]), np.array([Outcome.FALSE] * 2, np.uint8), Outcome.NULL
    )
    conjunct = Evaluated(Opaque("f(c)", (("c",),)), COLUMN, outcomes)
    (effect,) = effects([conjunct], [Segment(slice(0, 4), FILES)], 4)
    assert (effect.alone.any(), effect.kinds) == (True, ("evaluated",))
