"""The registry of the rules that evaluate each kind of node, one line per node.

Functions have a registry of their own, evaluation/functions/registry.py. See
docs/adding_an_operator.md.
"""

from __future__ import annotations

from tamis.evaluation.evaluated import truth_of_evaluated
from tamis.evaluation.functions.registry import FUNCTION_ENTRIES
from tamis.evaluation.interpreter import FUNCTIONS, PREDICATES, TRUTHS, VALUES
from tamis.evaluation.nodes import column, comparison, literal, logic, membership, nullness, within
from tamis.evaluation.pairs.narrowing import narrowed_comparison, narrowed_subtraction
from tamis.evaluation.pairs.relations import SUBTRACTIONS
from tamis.evaluation.udf.declared_calls import DeclaredCall, declared_call
from tamis.expr.nodes import And, Column, Compare, Evaluated, In, IsNull, Literal, Not, Or, Within

__all__ = ["FUNCTIONS", "PREDICATES", "TRUTHS", "VALUES"]

TRUTHS[And] = logic.conjunction
TRUTHS[Or] = logic.disjunction
TRUTHS[Not] = logic.negation
TRUTHS[Compare] = narrowed_comparison(comparison.compare)
TRUTHS[In] = membership.is_in
TRUTHS[IsNull] = nullness.is_null
TRUTHS[Within] = within.within
TRUTHS[Evaluated] = truth_of_evaluated

VALUES[Column] = column.column
VALUES[DeclaredCall] = declared_call
VALUES[Literal] = literal.literal

for entry in FUNCTION_ENTRIES:
    if entry.value is not None:
        is_subtraction = entry.name in SUBTRACTIONS
        FUNCTIONS[entry.name] = narrowed_subtraction(entry.value) if is_subtraction else entry.value
    if entry.predicate is not None:
        PREDICATES[entry.name] = entry.predicate
