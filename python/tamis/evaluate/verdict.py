"""What statistics prove of the rows of one container."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Verdict"]


class Verdict(StrEnum):
    NONE = "none"  # no row satisfies the predicate: the container need not be read
    SOME = "some"  # nothing is proven: read it, and apply the predicate
    ALL = "all"  # every row satisfies the predicate: it need not be applied
