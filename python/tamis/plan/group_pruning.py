"""Conjuncts over groups of rows: what they prove together about a file, or each about all rows.

A group is a container, too. A file holds no row that satisfies all conjuncts if each of its groups
is ruled out by one of them, not always the same one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.interpreter import truth
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Column, Expr, walk
from tamis.files.group_statistics import groups_of

__all__ = ["all_true_in_groups", "rule_out_by_groups"]


def rule_out_by_groups(survivors: Flags, statistics: Statistics, conjuncts: Sequence[Expr]) -> None:
    """Clear the flags of the containers in which each group is ruled out by a conjunct."""
    if not statistics.grouped() or not survivors.any():
        return
    left = np.flatnonzero(survivors)
    for known, groups in groups_of(statistics.take(left), _columns(conjuncts)):
        alive = np.ones(groups.num_containers, np.bool_)
        for conjunct in conjuncts:
            alive &= truth(conjunct, groups).can_be_true
            if not alive.any():
                break
        # Every row is in a group. Where no group has a row for which all conjuncts are true, the
        # container has none.
        may_match = np.bincount(groups.owner[alive], minlength=len(known)) > 0
        survivors[left[known[~may_match]]] = False


def all_true_in_groups(conjunct: Expr, statistics: Statistics, unproven: Flags) -> bool:
    """Return whether the conjunct is true for every row of the containers that `unproven` marks."""
    if not statistics.grouped():
        return False
    left = np.flatnonzero(np.broadcast_to(unproven, (statistics.num_containers,)))
    open_ = np.ones(len(left), np.bool_)
    for known, groups in groups_of(statistics.take(left), _columns([conjunct])):
        truths = truth(conjunct, groups)
        fails = np.broadcast_to(truths.can_be_false | truths.can_be_null, (len(groups.owner),))
        # Every row is in a group, and the conjunct is true for all rows of each of them.
        open_[known[np.bincount(groups.owner[fails], minlength=len(known)) == 0]] = False
    return not open_.any()


def _columns(conjuncts: Sequence[Expr]) -> frozenset[Column]:
    return frozenset(
        Column(node.path, node.type)
        for conjunct in conjuncts
        for node in walk(conjunct)
        if isinstance(node, Column)
    )
