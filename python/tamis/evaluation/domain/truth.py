"""The truth values that a predicate may take for the rows of each container.

    rows of c in the container    c > 5: can_be_true  can_be_false  can_be_null   verdict
    3, 4                                 False        True          False         none
    3, 7                                 True         True          False         some
    6, 7, NULL                           True         False         True          some
    6, 7                                 True         False         False         all

A flag is False only if the predicate has that value for no row. NULL is not true, so a row for
which the predicate is NULL rules out "all" but not "none". For a container without rows, no flag
need be True.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tamis.evaluation.domain.bounds import NO, YES, Flags

__all__ = ["Lazy", "TruthSet"]

#: Flags, or a function that computes them on first use.
Lazy: TypeAlias = Flags | Callable[[], Flags]


class TruthSet:
    """Three flags per container, each computed on first use and then kept.

    Pruning needs only can_be_true, for every container. The other two are needed only for the
    containers that are kept.
    """

    __slots__ = ("_false", "_null", "_true")

    def __init__(self, can_be_true: Lazy, can_be_false: Lazy, can_be_null: Lazy) -> None:
        self._true = can_be_true
        self._false = can_be_false
        self._null = can_be_null

    @staticmethod
    def anything() -> TruthSet:
        """Return a truth set with all flags set: sound for any predicate.

        >>> TruthSet.anything().can_be_true
        array([ True])
        """
        return TruthSet(YES, YES, YES)

    @staticmethod
    def constant(value: bool | None) -> TruthSet:
        """Return the truth set of a predicate that has this value for every row.

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
        """Return the truth set of NOT: true and false are swapped, NULL stays."""
        return TruthSet(lambda: self.can_be_false, lambda: self.can_be_true, self._lazy_null)

    def _lazy_null(self) -> Flags:
        return self.can_be_null
