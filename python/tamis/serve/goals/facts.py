"""Answers to the goal of facts about a whole table."""

from __future__ import annotations

from tamis.expr.nodes import Column
from tamis.serve.goals.goal_context import GoalContext
from tamis.tables.facts import ColumnFacts, table_facts
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.constants import plain_constant
from tamis.wire.goals import ColumnFactsDocument, FactsAnswer, FactsGoal

__all__ = ["answer_facts"]


def answer_facts(goal: FactsGoal, context: GoalContext) -> FactsAnswer | None:
    """Return what is known of all files; None unless an index describes each of them."""
    columns = [
        each if isinstance(each, Column) else None for each in decode_conjuncts(goal.columns)
    ]
    facts = table_facts(context.scan, columns)
    if facts is None:
        return None
    return FactsAnswer(facts.rows, facts.counts_distinct, [_document(c) for c in facts.columns])


def _document(facts: ColumnFacts) -> ColumnFactsDocument:
    return ColumnFactsDocument(
        plain_constant(facts.least),
        plain_constant(facts.greatest),
        facts.nulls,
        facts.distinct,
        facts.average_length,
        facts.longest,
    )
