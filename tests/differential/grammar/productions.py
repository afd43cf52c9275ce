"""The base of all productions: random draws, new names, the tables."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from tests.differential.grammar.scope import Columns, columns_of, keys_of
from tests.differential.random_tables import RandomTable
from tests.differential.tree import Node

T = TypeVar("T")

#: How many of the last statements, and of the last filters of tables, may be compared again.
RECENT = 8


class Productions(ABC):
    """The base of the grammar. Productions of different modules call each other through it."""

    def __init__(
        self, rng: random.Random, tables: Sequence[RandomTable], only: Sequence[str] = ()
    ) -> None:
        """Draw from `rng` over `tables`; `only`: the productions that statements start with."""
        self.rng = rng
        self.only = only
        self.tables = tables
        self.columns = {table.name: columns_of(rng, table) for table in tables}
        self.keys = [key for table in tables for key in keys_of(table)] or [0]
        self.earlier: deque[tuple[RandomTable, Node]] = deque(maxlen=RECENT)
        self.ctes: list[tuple[str, Columns]] = []
        self.names = 0
        self.products = 0
        self.correlates = False

    def name(self, letter: str) -> str:
        """A name that is unique in the statement."""
        self.names += 1
        return f"{letter}{self.names}"

    def chance(self, share: float) -> bool:
        """True with this probability."""
        return self.rng.random() < share

    def one_of(self, *weighted: tuple[int, Callable[[], T]]) -> T:
        """The result of one of these productions, drawn by weight."""
        weights = [weight for weight, _ in weighted]
        return self.rng.choices([make for _, make in weighted], weights)[0]()

    def table(self) -> RandomTable:
        """One of the tables."""
        return self.rng.choice(list(self.tables))

    def noted(self, table: RandomTable, filter_: Node) -> Node:
        """The filter, of which a later statement may ask again."""
        self.earlier.append((table, filter_))
        return filter_

    # Productions that earlier modules need.

    @abstractmethod
    def query(self, depth: int, want: Sequence[str] | None = None) -> tuple[Node, Columns]:
        """A query with columns of these families, or of any."""

    @abstractmethod
    def relation(self, depth: int) -> tuple[Node, Columns]:
        """Any relation that FROM accepts."""

    @abstractmethod
    def base(self, filtered: float | None = None) -> tuple[Node, Columns]:
        """A table, or a name that WITH defines."""

    @abstractmethod
    def condition(self, scope: Columns, depth: int) -> Node:
        """A predicate over columns in scope."""

    @abstractmethod
    def scalar(self, family: str, scope: Columns, depth: int) -> Node:
        """A subquery with one value."""
