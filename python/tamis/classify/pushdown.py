"""The three answers of the contract between the engine and storage."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tamis.expr.nodes import Expr
from tamis.reasons import Reason

__all__ = ["Classification", "Pushdown"]


class Pushdown(StrEnum):
    EXACT = "exact"  # every row of every file that is kept satisfies it: it leaves the plan
    INEXACT = "inexact"  # it rules out files, and is applied again to the rows of those kept
    UNSUPPORTED = "unsupported"  # storage cannot use it: the engine applies it


@dataclass(frozen=True, slots=True)
class Classification:
    """What storage does with one predicate.

    - `pushed`: what storage evaluates; the predicate implies it. None when unsupported.
    - `residual`: what the engine still applies to every row. None when exact.
    - `reason`: why it is not exact. None when it is.
    """

    pushdown: Pushdown
    pushed: Expr | None
    residual: Expr | None
    reason: Reason | None
