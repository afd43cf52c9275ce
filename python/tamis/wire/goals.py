"""What a question may ask beyond filters of the files that they keep, and what is answered.

One struct a goal, and one a form of answer; `Nothing` with its reason where there is none.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from tamis.wire.file_sets import Kept

__all__ = [
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
    "Range",
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


class KeyRangeGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="key_range"):
    """Between which values does the key, an expression document, lie?"""

    key: Any


class ConfineGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="confine"):
    """Which files hold a row of which this predicate, an expression document, may be true?"""

    to: Any


class ClusteredGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="clustered"):
    """Of which of the keys, expression documents, do single values lie in few files?"""

    keys: list[Any]


class FilesAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="files"):
    """These files are enough."""

    files: Kept


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


Goal: TypeAlias = LimitGoal | KeyRangeGoal | ConfineGoal | ClusteredGoal
GoalAnswer: TypeAlias = FilesAnswer | KeyRangeAnswer | ClusteredAnswer | NothingAnswer
