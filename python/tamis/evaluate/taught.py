"""What a function's line in the table says: Catalyst's name, how much is known, the rule."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tamis.evaluate.interpreter import TruthRule, ValueRule

__all__ = ["Knowledge", "Taught"]


class Knowledge(StrEnum):
    """How the bounds of the arguments become bounds of the result."""

    MONOTONE = "monotone"  # edges map to edges
    PIECEWISE = "piecewise"  # so within a year, a day, a week; the full range over more than one
    INTERVAL = "interval"  # by the rules of interval arithmetic
    PREFIX = "prefix"  # by what the strings begin with
    POINT = "single value"  # computed where all values of a file are one, else not known
    CHOICE = "choice"  # the hull of the arguments that may be chosen


@dataclass(frozen=True, slots=True)
class Taught:
    """One function: Catalyst's class name, its name in SQL, what is known, and the rule."""

    name: str
    sql: str
    knowledge: Knowledge
    value: ValueRule | None = None
    predicate: TruthRule | None = None
    note: str = ""
