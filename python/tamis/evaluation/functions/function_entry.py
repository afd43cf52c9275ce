"""An entry in the table of functions: the Catalyst name, how much is known, and the rule."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tamis.evaluation.interpreter import TruthRule, ValueRule

__all__ = ["FunctionEntry", "Knowledge"]


class Knowledge(StrEnum):
    """How bounds of the arguments become bounds of the result."""

    MONOTONE = "monotone"  # edges map to edges
    PIECEWISE = "piecewise"  # monotone within a year, a day, a week; over several, the full range
    INTERVAL = "interval"  # by the rules of interval arithmetic
    PREFIX = "prefix"  # by the shared prefix of the strings
    POINT = "single value"  # computed where all values of a file are the same, else not known
    CHOICE = "choice"  # the hull of the arguments that may be chosen


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """One function: its Catalyst class name, its SQL name, what is known of it, and the rule.

    `never_raises`: the function raises no error for any arguments, in any mode. Its arguments may
    still raise. evaluation.raising describes what depends on it.
    """

    name: str
    sql: str
    knowledge: Knowledge
    value: ValueRule | None = None
    predicate: TruthRule | None = None
    note: str = ""
    never_raises: bool = False
