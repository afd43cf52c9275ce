"""Which of the files that are kept hold nothing but rows that pass every conjunct.

file          rows of c    c >= 5 AND c < 20
f1            5 .. 9       fully matching
f2            8 .. 30      not: some rows may fail
f3            no bounds    not: nobody knows
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tamis.evaluate.bounds import Flags
from tamis.evaluate.declared import relies_on_declaration
from tamis.evaluate.interpreter import truth
from tamis.expr.nodes import Expr
from tamis.plan.reader_losses import loss_of
from tamis.plan.scan import Segment, kept_blocks, together

__all__ = ["can_match_fully", "fully_matching", "fully_matching_blocks"]


def can_match_fully(conjunct: Expr) -> bool:
    """Whether that is ever believed of a conjunct.

    Not of what rests on the word of a person, and not of what Spark's reader may lose rows of
    (plan.reader_losses): a row that counts as passing has to come out of that reader.
    """
    return not relies_on_declaration(conjunct) and loss_of(conjunct) is None


def fully_matching(conjuncts: Sequence[Expr], segments: Sequence[Segment], kept: Flags) -> Flags:
    """One flag a file: it is kept, and every conjunct is true of every row of it.

    A file that no segment covers never is.
    """
    found = np.zeros(len(kept), np.bool_)
    for ordinals in fully_matching_blocks(conjuncts, segments, kept):
        found[ordinals] = True
    return found


def fully_matching_blocks(
    conjuncts: Sequence[Expr], segments: Sequence[Segment], kept: Flags
) -> Iterator[npt.NDArray[np.intp]]:
    """The same as ordinals, block by block: for whoever has enough with some of them.

    A file in two segments may come twice.
    """
    if not all(map(can_match_fully, conjuncts)):
        return
    forms = [together(each) for each in conjuncts]
    for ordinals, chosen in kept_blocks(segments, kept):
        matching = np.ones(len(ordinals), np.bool_)
        for form in forms:
            truths = truth(form, chosen)
            # Neither false nor NULL for any row: true of all of them.
            matching &= ~(truths.can_be_false | truths.can_be_null)
        if matching.any():
            yield ordinals[matching]
