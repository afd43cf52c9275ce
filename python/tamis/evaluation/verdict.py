"""What statistics prove about a predicate and the rows of one container."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Verdict"]


class Verdict(StrEnum):
    """What statistics prove about a predicate and the rows of one container."""

    NONE = "none"  # no row satisfies the predicate: skip the container
    SOME = "some"  # nothing is proven: read the container and apply the predicate
    ALL = "all"  # every row satisfies the predicate: no need to apply it
