"""What a question may ask beyond filters of the files that they keep, and what is answered.

One struct a goal, and one a form of answer; `Nothing` with its reason where there is none.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tamis.wire.file_sets import Kept

__all__ = ["FilesAnswer", "Goal", "GoalAnswer", "LimitGoal", "NothingAnswer", "ReasonDocument"]


class ReasonDocument(msgspec.Struct, frozen=True):
    code: str
    arguments: dict[str, str | int]
    text: str
    fix: str | None = None


class LimitGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="limit"):
    """Which files are enough for any `rows` rows that pass the filters?"""

    rows: int


class FilesAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="files"):
    """These files are enough."""

    files: Kept


class NothingAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="nothing"):
    """The goal changes nothing, and why."""

    reason: ReasonDocument


Goal: TypeAlias = LimitGoal
GoalAnswer: TypeAlias = FilesAnswer | NothingAnswer
