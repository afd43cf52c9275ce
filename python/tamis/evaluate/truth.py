"""Which truth values a predicate may take among the rows of each container.

    rows of c in the container    c > 5: can_be_true  can_be_false  can_be_null   verdict
    3, 4                                 False        True          False         none
    3, 7                                 True         True          False         some
    6, 7, NULL                           True         False         True          some
    6, 7                                 True         False         False         all

"May": a flag is False only where no row takes that value. NULL is not true, so a row that is NULL
stands against "all" and not against "none". A container without rows has no True flag at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tamis.evaluate.bounds import NO, YES, Flags

__all__ = ["Lazy", "TruthSet"]

#: Flags, or the way to compute them when they are first asked for.
Lazy: TypeAlias = Flags | Callable[[], Flags]


class TruthSet:
    """Three flags a container, each computed when first asked for, and kept.

    Pruning asks for can_be_true alone, of every container; the other two are asked for only of
    containers that are left.
    """

    __slots__ = ("_false", "_null", "_true")

    def __init__(self, can_be_true: Lazy, can_be_false: Lazy, can_be_null: Lazy) -> None:
        self._true = can_be_true
        self._false = can_be_false
        self._null = can_be_null

    @staticmethod
    def anything() -> TruthSet:
        """Nothing is known: the sound answer for what nobody taught.

        >>> TruthSet.anything().can_be_true
        array([ True])
        """
        return TruthSet(YES, YES, YES)

    @staticmethod
    def constant(value: bool | None) -> TruthSet:
        """Every row takes this one truth value.

        >>> TruthSet.constant(None).can_be_true
        array([False])
        """
        return TruthSet(
            YES if value is True else NO,
            YES if value is False else NO,
            YES if value is None else NO,
        )

    @property
    def can_be_true(self) -> Flags:
        if callable(self._true):
            self._true = self._true()
        return self._true

    @property
    def can_be_false(self) -> Flags:
        if callable(self._false):
            self._false = self._false()
        return self._false

    @property
    def can_be_null(self) -> Flags:
        if callable(self._null):
            self._null = self._null()
        return self._null

    def negated(self) -> TruthSet:
        """NOT: true and false change places, NULL stays."""
        return TruthSet(lambda: self.can_be_false, lambda: self.can_be_true, self._lazy_null)

    def _lazy_null(self) -> Flags:
        return self.can_be_null
