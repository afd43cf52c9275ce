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
    "FilesAnswer",
    "Goal",
    "GoalAnswer",
    "LimitGoal",
    "NothingAnswer",
    "PartialDocument",
    "ReasonDocument",
]


class ReasonDocument(msgspec.Struct, frozen=True):
    code: str
    arguments: dict[str, str | int]
    text: str
    fix: str | None = None


class LimitGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="limit"):
    """Which files are enough for any `rows` rows that pass the filters?"""

    rows: int


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
    """These files are enough."""

    files: Kept


class NothingAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="nothing"):
    """The goal changes nothing, and why."""

    reason: ReasonDocument


Goal: TypeAlias = LimitGoal | AggregateGoal
GoalAnswer: TypeAlias = FilesAnswer | AggregateAnswer | NothingAnswer
