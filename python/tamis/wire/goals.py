"""What a question may ask beyond filters of the files that they keep, and what is answered.

One struct a goal, and one a form of answer; `Nothing` with its reason where there is none.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from tamis.wire.file_sets import Kept

__all__ = [
    "FilesAnswer",
    "Goal",
    "GoalAnswer",
    "LimitGoal",
    "NothingAnswer",
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


class FilesAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="files"):
    """These files are enough.

    `until`, of a TopKGoal: no needed row has a value of the key after this one, a constant as
    expression documents have them; null: that is not known, or no such constant.
    """

    files: Kept
    until: int | str | None = None


class NothingAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="nothing"):
    """The goal changes nothing, and why."""

    reason: ReasonDocument


Goal: TypeAlias = LimitGoal | TopKGoal | SplitGoal
GoalAnswer: TypeAlias = FilesAnswer | NothingAnswer
