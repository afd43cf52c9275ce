"""The three classes of predicates, and what each means for storage and the engine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tamis.expr.nodes import Expr
from tamis.reasons import Reason

__all__ = ["Classification", "Pushdown"]


class Pushdown(StrEnum):
    """How storage uses a predicate: exact, inexact or unsupported."""

    EXACT = "exact"  # every row of every kept file satisfies it, so it leaves the plan
    INEXACT = "inexact"  # it may rule out files, and is applied again to the rows of the kept ones
    UNSUPPORTED = "unsupported"  # storage cannot use it, so only the engine applies it


@dataclass(frozen=True, slots=True)
class Classification:
    """What storage does with one predicate.

    Attributes:
        pushdown: The class of the predicate.
        pushed: What storage evaluates. The predicate implies it. None if unsupported.
        residual: What the engine still applies to every row. None if exact.
        reason: Why it is not exact. None if it is.
    """

    pushdown: Pushdown
    pushed: Expr | None
    residual: Expr | None
    reason: Reason | None
