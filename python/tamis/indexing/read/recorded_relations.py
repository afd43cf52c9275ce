"""The recorded expressions over two values of a row, found by these two values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tamis.evaluation.pairs.relations import Pair, Subtraction, pair_of
from tamis.evaluation.statistics import Relation, RelationKind, Subject
from tamis.expr.nodes import Column
from tamis.expr.rewrites import simplify
from tamis.indexing.format.entries import Entry
from tamis.wire.catalyst import decode

__all__ = ["RecordedRelation", "Relations", "relations_of"]

Fold: TypeAlias = Callable[[tuple[str, ...]], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class RecordedRelation:
    """A recorded expression over the two values of a relation.

    Attributes:
        key: The key of the expression.
        pair: The expression.
        is_mirrored: Whether its left side is the right side of the relation.
    """

    key: str
    pair: Pair | Subtraction
    is_mirrored: bool


@dataclass(frozen=True, slots=True)
class Relations:
    """Recorded expressions by their left and right values, with columns as `fold` spells them."""

    recorded: Mapping[tuple[Subject, Subject], tuple[tuple[str, Pair | Subtraction], ...]]
    fold: Fold

    def over(self, relation: Relation) -> Iterator[RecordedRelation]:
        left, right = _folded(relation.left, self.fold), _folded(relation.right, self.fold)
        for sides, is_mirrored in (((left, right), False), ((right, left), True)):
            for key, pair in self.recorded.get(sides, ()):
                yield RecordedRelation(key, pair, is_mirrored)


def relations_of(entries: Iterable[Entry], fold: Fold) -> Relations:
    """Return the relations among these entries. A document that is not understood is none."""
    found: dict[tuple[Subject, Subject], dict[str, Pair | Subtraction]] = {}
    for entry in entries:
        pair = _pair(entry.document)
        if pair is None or entry.key is None:
            continue
        relation = (
            pair.relation(RelationKind.DIFFERENCE) if isinstance(pair, Pair) else pair.relation()
        )
        sides = _folded(relation.left, fold), _folded(relation.right, fold)
        found.setdefault(sides, {})[entry.key] = pair
    return Relations({sides: tuple(pairs.items()) for sides, pairs in found.items()}, fold)


def _pair(document: str | None) -> Pair | Subtraction | None:
    if document is None:
        return None
    try:
        return pair_of(simplify(decode(json.loads(document))))
    except ValueError:  # not JSON
        return None


def _folded(subject: Subject, fold: Fold) -> Subject:
    return Column(fold(subject.path), subject.type) if isinstance(subject, Column) else subject
