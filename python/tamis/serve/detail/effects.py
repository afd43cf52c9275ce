"""What conjuncts rule out, in files, bytes and rows, for explanations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import structs

from tamis.evaluation.domain.bounds import Flags
from tamis.expr.nodes import Expr
from tamis.plan.detail.pruning_effects import effects
from tamis.tables.scan_input import ScanInput
from tamis.wire.messages import ConjunctAnswer, PlanRequest, Share

__all__ = ["with_effects"]


def with_effects(
    answers: list[ConjunctAnswer],
    request: PlanRequest,
    scan: ScanInput,
    conjuncts: Sequence[Expr],
) -> list[ConjunctAnswer]:
    """Return the answers with what each conjunct rules out, if the request asks for detail."""
    if not request.detail:
        return answers

    sizes = scan.sizes.to_numpy()

    def share(flags: Flags) -> Share:
        size = int(sizes[flags].sum(dtype=np.int64))
        return Share(int(np.count_nonzero(flags)), size, scan.records(flags))

    return [
        structs.replace(
            answer,
            pruned=share(each.alone),
            added=None if each.added is None else share(each.added),
            pruned_by=list(each.kinds),
        )
        for answer, each in zip(
            answers, effects(conjuncts, scan.segments, request.snapshot.files), strict=True
        )
    ]
