"""AND and OR of flags. A single flag that holds for every container costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tamis.evaluation.domain.bounds import NO, YES, Flags, is_always, is_never

__all__ = ["all_of", "any_of", "simplified"]


def all_of(flags: Iterable[Flags]) -> Flags:
    """Return where all flags are True. Flags after a constant False are not computed.

    >>> all_of([YES, np.array([True, False])]).tolist()
    [True, False]
    """
    return _fold(flags, is_always, is_never, np.logical_and, YES, NO)


def any_of(flags: Iterable[Flags]) -> Flags:
    """Return where any flag is True. Flags after a constant True are not computed.

    >>> any_of([NO, np.array([True, False])]).tolist()
    [True, False]
    """
    return _fold(flags, is_never, is_always, np.logical_or, NO, YES)


def _fold(
    flags: Iterable[Flags],
    is_neutral: Callable[[Flags], bool],
    is_absorbing: Callable[[Flags], bool],
    combine: np.ufunc,
    neutral: Flags,
    absorbing: Flags,
) -> Flags:
    result = neutral
    is_ours = False
    for each in flags:
        if is_neutral(each):
            continue
        if is_absorbing(each):
            return absorbing
        if result is neutral:
            result = each  # the caller's array: never written to
        elif is_ours and len(result) >= len(each):
            combine(result, each, out=result)
        else:
            result = combine(result, each)
            is_ours = True
    return result


def simplified(flags: Flags) -> Flags:
    """Return the flags, as a single flag if all are equal: evaluating that costs almost nothing."""
    if len(flags) <= 1:
        return flags
    if flags.all():
        return YES
    return flags if flags.any() else NO
