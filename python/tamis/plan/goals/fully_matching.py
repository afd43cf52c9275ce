"""Find the kept files all of whose rows pass every conjunct.

file          rows of c    c >= 5 AND c < 20
f1            5 .. 9       fully matching
f2            8 .. 30      not: some rows may fail
f3            no bounds    not: nothing is known
f4            no bounds    fully matching, if an earlier scan found both true for every row
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.interpreter import truth
from tamis.evaluation.udf.declared_calls import relies_on_declaration
from tamis.expr.nodes import Expr
from tamis.files.segments import Segment
from tamis.plan.known_true import NOTHING, KnownTrue
from tamis.plan.reader_losses import loss_of
from tamis.plan.scan_decision import kept_blocks, together

__all__ = ["can_match_fully", "fully_matching", "fully_matching_blocks"]


def can_match_fully(conjunct: Expr) -> bool:
    """Return whether the planner ever trusts that a conjunct is true for all rows of a file.

    It does not if the conjunct relies on a declaration by a user, or if Spark's reader may lose
    rows that pass it (plan.reader_losses): a row that counts as passing has to come out of that
    reader.
    """
    return not relies_on_declaration(conjunct) and loss_of(conjunct) is None


def fully_matching(
    conjuncts: Sequence[Expr],
    segments: Sequence[Segment],
    kept: Flags,
    known: KnownTrue = NOTHING,
) -> Flags:
    """Return one flag per file, set if the file is kept and all of its rows pass every conjunct.

    The flag is never set for a file that no segment covers.

    Args:
        conjuncts: The conjuncts.
        segments: The statistics of the files.
        kept: The files to consider.
        known: What earlier scans have found true, by the ordinals of the conjuncts.
    """
    flags = np.zeros(len(kept), np.bool_)
    for ordinals in fully_matching_blocks(conjuncts, segments, kept, known):
        flags[ordinals] = True
    return flags


def fully_matching_blocks(
    conjuncts: Sequence[Expr],
    segments: Sequence[Segment],
    kept: Flags,
    known: KnownTrue = NOTHING,
) -> Iterator[npt.NDArray[np.intp]]:
    """Yield the ordinals of the fully matching files, block by block, for callers that stop early.

    A file in two segments may occur twice.
    """
    if not all(map(can_match_fully, conjuncts)):
        return
    forms = [together(each) for each in conjuncts]
    for ordinals, chosen in kept_blocks(segments, kept):
        matching = np.ones(len(ordinals), np.bool_)
        for place, form in enumerate(forms):
            truths = truth(form, chosen)
            # Neither false nor NULL for any row, so true for all rows.
            sure = ~(truths.can_be_false | truths.can_be_null)
            if place in known.files:
                sure = sure | known.files[place][ordinals]
            matching &= sure
        if matching.any():
            yield ordinals[matching]
