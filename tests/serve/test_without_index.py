"""Advice for tables that have no index."""

from __future__ import annotations

import pytest

from tamis.serve.detail.without_index import without_index
from tamis.wire.goals import NothingAnswer, ReasonDocument
from tamis.wire.messages import ConjunctAnswer, PlanAnswer


@pytest.mark.parametrize(
    ("fix", "left"),
    [
        (None, None),
        ("cluster the table by k", "cluster the table by k"),
        ("build the statistics index: tamis.index(spark, path).build()", None),
        (
            "cluster the table by k, or record Bloom filters: tamis.index(spark, path).add()",
            "cluster the table by k",
        ),
    ],
)
def test_only_advice_about_the_table_is_left(fix: str | None, left: str | None) -> None:
    why = ReasonDocument("CODE", {}, "text", fix)
    answer = PlanAnswer(
        "q1",
        "f",
        1,
        None,  # type: ignore[arg-type]
        conjuncts=[ConjunctAnswer("inexact", why), ConjunctAnswer("exact")],
        goal=NothingAnswer(why),
    )
    adapted = without_index(answer)
    reasons = [each.reason for each in (adapted.conjuncts[0], adapted.goal)]  # type: ignore[union-attr]
    assert [each.fix for each in reasons if each] == [left, left]
    assert adapted.conjuncts[1] == answer.conjuncts[1]
