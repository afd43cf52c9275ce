"""The filters that are in force in a scan: a snapshot, and the deltas that followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import pyarrow as pa

from tamis.expr.nodes import Expr, Literal
from tamis.expr.types import BOOLEAN
from tamis.wire.duckdb.comparisons import Constant, Operand
from tamis.wire.duckdb.constant_comparisons import Term
from tamis.wire.duckdb.document import NotUnderstood
from tamis.wire.duckdb.types import LogicalType
from tamis.wire.vgi.coercion import is_null_constant
from tamis.wire.vgi.container import Container, read_container
from tamis.wire.vgi.document import (
    MAX_IDS,
    Entry,
    Malformed,
    Mode,
    Node,
    read_delta,
    read_snapshot,
)
from tamis.wire.vgi.operands import OPERANDS
from tamis.wire.vgi.predicates import PREDICATES
from tamis.wire.vgi.reader import Reader
from tamis.wire.vgi.row_values import Computed
from tamis.wire.vgi.rowwise import row_predicate
from tamis.wire.vgi.structure import check_structure

__all__ = ["Filters", "Predicate"]

_BOOLEAN: Final = LogicalType("BOOLEAN")


@dataclass(frozen=True, slots=True)
class Predicate:
    """A filter of a scan.

    - `expr`: true for exactly the rows that pass; None if it cannot be evaluated exactly, which
      only happens to advisory predicates.
    - `computed`: the parts of it that need the values of rows, by the key of their node.
    """

    id: str
    mode: Mode
    source: str
    expr: Expr | None
    computed: Mapping[str, Computed]


@dataclass(frozen=True, slots=True)
class Filters:
    """The predicates in force. A row passes if all of them are true.

    `revisions` has the last revision of each ID, also of those that were removed, and `fixed` the
    IDs that the snapshot introduced as required. Instances are immutable: a delta gives a new one,
    or raises and changes nothing.
    """

    schema: pa.Schema
    keys: tuple[pa.RecordBatch, ...]
    context: Mapping[str, str]
    predicates: Mapping[str, Predicate]
    revisions: Mapping[str, int]
    fixed: frozenset[str]

    @staticmethod
    def snapshot(content: bytes, schema: pa.Schema, keys: Sequence[pa.RecordBatch] = ()) -> Filters:
        """Read the filters that a scan begins with.

        Args:
            content: The serialized filter batch.
            schema: The columns of the function, without a projection.
            keys: The join keys of the request.

        Raises:
            Malformed: The document breaks a rule, or a required predicate cannot be evaluated.
        """
        container = read_container(content)
        filters = Filters(schema, tuple(keys), container.context, {}, {}, frozenset())
        entries = read_snapshot(container.document)
        predicates = {each.id: filters._read(each, container) for each in entries}
        fixed = (each.id for each in entries if each.mode is Mode.REQUIRED)
        return replace(
            filters,
            predicates=MappingProxyType(predicates),
            revisions=MappingProxyType({each.id: each.revision for each in entries}),
            fixed=frozenset(fixed),
        )

    def delta(self, content: bytes) -> Filters:
        """Return the filters after an update.

        Raises:
            Malformed: The document breaks a rule. No part of it takes effect.
        """
        container = read_container(content)
        if container.context != self.context:
            raise Malformed("the evaluation context changes within a scan")
        predicates, revisions = dict(self.predicates), dict(self.revisions)
        for update in read_delta(container.document):
            if update.id in self.fixed:
                raise Malformed(f"the predicate {update.id!r} is required and cannot change")
            if update.revision <= revisions.get(update.id, -1):
                continue  # a duplicate, or older than what is in force
            revisions[update.id] = update.revision
            predicates.pop(update.id, None)
            if isinstance(update, Entry):
                predicates[update.id] = self._read(update, container)
        if len(revisions) > MAX_IDS:
            raise Malformed(f"a scan has more than {MAX_IDS} predicate IDs")
        return replace(
            self,
            predicates=MappingProxyType(predicates),
            revisions=MappingProxyType(revisions),
        )

    def _read(self, entry: Entry, container: Container) -> Predicate:
        check_structure(entry.expression, entry.mode, self.schema, container, self.keys)
        reader = _PredicateReader(self.schema, container, self.keys, f"{entry.id}@{entry.revision}")
        assert isinstance(entry.expression, dict)
        try:
            if container.has_session:
                raise NotUnderstood("the context vgi.duckdb.session.v1 is not supported")
            expr = reader.root(entry.expression)
        except (NotUnderstood, ArithmeticError) as error:
            if entry.mode is Mode.REQUIRED:
                reason = str(error) or "its meaning is not certain"
                raise Malformed(
                    f"the required predicate {entry.id!r} cannot be evaluated: {reason}"
                ) from error
            return Predicate(entry.id, entry.mode, entry.source, None, {})
        computed = MappingProxyType(reader.computed)
        return Predicate(entry.id, entry.mode, entry.source, expr, computed)


class _PredicateReader(Reader):
    __slots__ = ()

    def root(self, node: Node) -> Expr:
        if node["node"] == "runtime_filter":
            raise NotUnderstood("runtime filters are not supported")
        return self._truth_of(node, "the predicate root must resolve to BOOLEAN")

    def predicate(self, node: Node) -> Expr:
        return self._truth_of(node, "a value that is not BOOLEAN is not a predicate")

    def _truth_of(self, node: Node, problem: str) -> Expr:
        """Return a node that statistics describe, or else one whose value only rows have."""
        if node["node"] in ("and", "or", "not"):
            return PREDICATES[node["node"]](self, node)
        try:
            if node["node"] in PREDICATES:
                return PREDICATES[node["node"]](self, node)
            operand = self.operand(node)
        except (NotUnderstood, ArithmeticError):
            return row_predicate(self, node)
        if operand.type != _BOOLEAN and not is_null_constant(operand):
            raise Malformed(problem)
        return _truth(operand)

    def operand(self, node: Node) -> Operand:
        if node["node"] in OPERANDS:
            return OPERANDS[node["node"]](self, node)
        return Term(self.predicate(node), _BOOLEAN, _BOOLEAN)


def _truth(operand: Operand) -> Expr:
    """Return a boolean value as a predicate."""
    match operand:
        case Term(expr=expr):
            return expr
        case Constant(value=bool(value)):
            return Literal(value, BOOLEAN)
        case Constant(value=None):
            return Literal(None, BOOLEAN)
    raise NotUnderstood
