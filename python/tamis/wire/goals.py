"""What a question may ask beyond filters of the files that they keep, and what is answered.

One struct a goal, and one a form of answer; `Nothing` with its reason where there is none.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from tamis.wire.file_sets import Kept

__all__ = [
    "AggregateAnswer",
    "AggregateDocument",
    "AggregateGoal",
    "ClusteredAnswer",
    "ClusteredGoal",
    "ConfineGoal",
    "FilesAnswer",
    "Goal",
    "GoalAnswer",
    "KeyRangeAnswer",
    "KeyRangeGoal",
    "LimitGoal",
    "NothingAnswer",
    "PartialDocument",
    "Range",
    "ReasonDocument",
    "SplitGoal",
    "TopKGoal",
]


class ReasonDocument(msgspec.Struct, frozen=True):
    code: str
    arguments: dict[str, str | int]
    text: str
    fix: str | None = None


class LimitGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="limit"):
    """Which files are enough for any `rows` rows that pass the filters?"""

    rows: int


class TopKGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="topk"):
    """Which files can hold one of the first `rows` rows that pass the filters?

    `key`: the first key of the ORDER BY, an expression document that brings its own zones.
    `only`: no other key follows, so that of rows with an equal key any will do.
    """

    rows: int
    key: Any
    descending: bool
    nulls_first: bool
    only: bool = False


class SplitGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="split"):
    """Which files pass the filters as a whole, if it pays to scan them without?

    `freed`: types of the columns that only the filters need. `columns`: how many come out.
    `least`: milliseconds that it has to save.
    """

    freed: list[str]
    columns: int
    least: int


class KeyRangeGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="key_range"):
    """Between which values does the key, an expression document, lie?"""

    key: Any


class ConfineGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="confine"):
    """Which files hold a row of which this predicate, an expression document, may be true?"""

    to: Any


class ClusteredGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="clustered"):
    """Of which of the keys, expression documents, do single values lie in few files?"""

    keys: list[Any]


class AggregateDocument(msgspec.Struct, frozen=True):
    """`argument`: an expression document; null: COUNT of rows."""

    function: Literal["count", "min", "max"]
    argument: Any = None


class AggregateGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="aggregate"):
    """What do statistics answer of these aggregates over the rows that pass the filters?

    `keys`: for every directory of the snapshot the number of its group, from 0; null: there is one
    group, also of no row.
    """

    aggregates: list[AggregateDocument]
    keys: list[int] | None = None


class PartialDocument(msgspec.Struct, frozen=True):
    """What statistics give for one group: values as the constants of expression documents."""

    key: int
    values: list[bool | int | float | str | None]


class AggregateAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="aggregate"):
    """`groups` are the aggregates of `covered` files; `files` are to be read for those of the rest.

    `skipped` files are in neither, because they change nothing. Groups without a row are left out.
    """

    files: Kept
    covered: int
    skipped: int
    groups: list[PartialDocument]


class FilesAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="files"):
    """These files are enough.

    `until`, of a TopKGoal: no needed row has a value of the key after this one, a constant as
    expression documents have them; null: that is not known, or no such constant.
    """

    files: Kept
    until: int | str | None = None


class Range(msgspec.Struct, frozen=True):
    """Both ends are of it, and are written as constants of expression documents are."""

    lower: int | str
    upper: int | str


class KeyRangeAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="key_range"):
    """Every key that is not NULL lies in one of the ranges; no range: there is none."""

    ranges: list[Range]


class ClusteredAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="clustered"):
    """One flag a key."""

    flags: list[bool]


class NothingAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="nothing"):
    """The goal changes nothing, and why."""

    reason: ReasonDocument


Goal: TypeAlias = (
    LimitGoal | TopKGoal | SplitGoal | KeyRangeGoal | ConfineGoal | ClusteredGoal | AggregateGoal
)
GoalAnswer: TypeAlias = (
    FilesAnswer | KeyRangeAnswer | ClusteredAnswer | AggregateAnswer | NothingAnswer
)
