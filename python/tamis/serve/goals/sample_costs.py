"""What reading a sample of the files of a scan costs, and how many rows are expected to pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import Flags
from tamis.expr.nodes import Column
from tamis.plan.cost import row_cost
from tamis.plan.goals.file_keys import key_of_files
from tamis.plan.goals.sort_keys import SortKey
from tamis.plan.goals.topk_sample import Reading, reading_costs
from tamis.plan.selectivity import share_that_passes
from tamis.serve.goals.goal_context import GoalContext
from tamis.wire.goals import SampleDocument

__all__ = ["rows_and_costs"]


def rows_and_costs(
    sample: SampleDocument, matching: Flags, files: Flags, context: GoalContext
) -> tuple[npt.NDArray[np.float64], Reading] | None:
    """Return the number of rows of each file that are expected to pass, and the costs of reading.

    None if the numbers of rows are not known.

    Args:
        sample: What the query reads.
        matching: The files all of whose rows pass.
        files: The files that the query reads without a sample.
        context: The scan.
    """
    scan, conjuncts = context.scan, context.conjuncts
    if scan.num_records is None:
        return None
    share = 1.0
    for each in conjuncts:
        share *= share_that_passes(each, lambda column: _distinct(column, files, context))
    num_records: npt.NDArray[np.int64] = scan.num_records
    expected = np.where(matching, 1.0, share) * np.maximum(num_records, 0)
    reading = reading_costs(
        num_records,
        scan.sizes.to_numpy(),
        sum(map(row_cost, conjuncts)),
        sample.columns,
        sample.sampled,
    )
    return expected, reading


def _distinct(column: Column, kept: Flags, context: GoalContext) -> float | None:
    """Return how many values a typical file can have of a column of whole numbers or days.

    No more than its rows, and no more than there are from its lower to its upper bound. None if the
    column has another type or no bounds.
    """
    scan = context.scan
    if scan.num_records is None or not column.type.is_discrete or column.type.is_decimal:
        return None
    of_files = key_of_files(SortKey(column, False, False, False), (), scan.segments, kept)
    if of_files is None or not len(of_files.ordinals):
        return None
    near, far = (np.asarray(edge, np.float64) for edge in (of_files.near, of_files.far))
    values = np.minimum(far - near + 1, np.maximum(scan.num_records[of_files.ordinals], 1))
    return float(np.median(values))
