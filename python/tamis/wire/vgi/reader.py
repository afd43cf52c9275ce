"""The interface that the rules for nodes use, and the scope of a document."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tamis.expr.nodes import Call, Expr
from tamis.wire.duckdb.comparisons import Operand
from tamis.wire.vgi.container import Container
from tamis.wire.vgi.document import Node
from tamis.wire.vgi.row_values import Computed

__all__ = ["Reader"]


@dataclass(frozen=True, slots=True)
class Reader(ABC):
    """Reads the nodes of one predicate, whose structure was checked.

    `computed` collects the values that only rows have, by key.
    """

    schema: pa.Schema
    container: Container
    keys: Sequence[pa.RecordBatch]
    name: str
    computed: dict[str, Computed] = field(default_factory=dict)

    @abstractmethod
    def predicate(self, node: Node) -> Expr:
        """Return a node as a predicate, or raise NotUnderstood."""

    @abstractmethod
    def operand(self, node: Node) -> Operand:
        """Return a node as a value, or raise NotUnderstood."""

    def compute(self, name: str, arguments: tuple[Expr, ...], computed: Computed) -> Expr:
        """Return a node that stands for a computed value."""
        key = f"{self.name}:{len(self.computed)}"
        self.computed[key] = computed
        return Call(name, arguments, (), computed.type, key)
