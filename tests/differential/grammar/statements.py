"""Whole statements, which a run compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.differential.grammar.queries import Queries
from tests.differential.grammar.scope import Column, Columns, qualified
from tests.differential.tree import Items, Tree, node, optional
from tests.differential.worlds import EXPRESSIONS


@dataclass(frozen=True)
class Statement:
    """A query, and the clauses that decide how its answers are compared.

    Attributes:
        query: The query without ORDER BY, LIMIT and OFFSET of the outermost SELECT.
        order: Positions of the output columns to sort by, with direction, such as "2 DESC".
        tail: LIMIT and OFFSET.
    """

    query: Tree
    order: Items
    tail: Items

    @property
    def whole(self) -> str:
        """The query without the tail: all rows in any order."""
        return str(self.query)

    @property
    def sql(self) -> str:
        """The complete SQL text."""
        return f"{self.query}{self.order}{self.tail}"

    @property
    def keys(self) -> list[int]:
        """The output columns that the rows are sorted by, counted from 0."""
        return [int(str(each).split()[0]) - 1 for each in self.order.items]


class Grammar(Queries):
    """Draws statements over tables. The same state of the generator draws the same statements."""

    def statement(self) -> Statement:
        """A whole statement."""
        self.ctes, self.products, self.names = [], 0, 0
        self.correlates = self.chance(0.5)
        depth = self.rng.choice([0, 0, 0, 1, 1, 1, 1, 2, 2, 3])
        productions: dict[str, tuple[int, Callable[[], tuple[Tree, Columns]]]] = {
            "query": (45, lambda: self.query(depth)),
            "join": (15, lambda: self.joined_again(depth)),
            "statistics": (12, self.of_statistics),
            "first": (10, self.first_rows),
            "with": (8, lambda: self.with_ctes(depth)),
            "recursive": (10, self.recursive),
            "filters": (14, self.filters),
        }
        query, columns = self.one_of(*(productions[name] for name in self.only or productions))
        order: list[Tree] = []
        tail: list[Tree] = []
        sortable = [n for n, c in enumerate(columns, 1) if c.family != "map"]
        if self.chance(0.3):
            for place in self.rng.sample(sortable, min(len(sortable), self.rng.choice([1, 1, 2]))):
                order.append(node("key", f"{place} {self.direction()}"))
        if self.chance(0.3):
            tail.append(node("clause", f" LIMIT {self.rng.choice([1, 1, 2, 3, 5, 10, 1000])}"))
        if self.chance(0.08):
            tail.append(node("clause", f" OFFSET {self.rng.choice([1, 3, 20])}"))
        return Statement(query, Items(" ORDER BY ", ", ", tuple(order)), Items("", "", tuple(tail)))

    def filtered_again(self) -> Statement:
        """The rows of a table that pass an earlier filter, without what surrounded the filter.

        What a scan under a LIMIT, a join or a top-k has learnt must hold for all rows.
        """
        table, filter_ = self.rng.choice(self.earlier)
        items = self.rng.choice(["_row AS c1", "count(*) AS c1, sum(_row) AS c2"])
        where = Items(" WHERE ", " AND ", (filter_,))
        nothing = Items("", "", ())
        query = node("query", f"SELECT {items} FROM {table.name}", where)
        return Statement(query, nothing, nothing)

    def direction(self) -> str:
        """A sort direction."""
        return self.rng.choice(["", "DESC", "ASC NULLS LAST", "DESC NULLS FIRST"])

    def filters(self) -> tuple[Tree, Columns]:
        """The rows of several filters of one table: many predicates in one statement."""
        table = self.table()
        branches = tuple(
            node("query", f"SELECT {number} AS filter, _row FROM {table.name}",
                 Items(" WHERE ", " AND ", (self.raw(table),)))
            for number in range(8)
        )  # fmt: skip
        return Items("", " UNION ALL ", branches, 1), (Column("", "int"), Column("", "int"))

    def of_statistics(self) -> tuple[Tree, Columns]:
        """MIN, MAX and COUNT directly over a table, which statistics may answer."""
        table = self.table()
        columns = self.columns[table.name]
        partition = [c for c in columns if c.sql == table.partition]
        items: list[Tree] = []
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            column = self.rng.choice(columns).sql
            call = self.rng.choice(["count(*)", f"count({column})", f"min({column})", f"max({column})",
                                    f"min({column})", f"max({column})",
                                    f"approx_count_distinct({column})"])  # fmt: skip
            items.append(node("item", call, f" AS {self.name('c')}"))
        if self.chance(0.06):
            items.append(node("item", f"sum(_row) AS {self.name('c')}"))
        if self.chance(0.05):
            items.append(node("item", f"count(*) FILTER (WHERE _row > 5) AS {self.name('c')}"))
        where = () if self.chance(0.4) else (self.base_filter(table),)
        grouped: list[Tree] = []
        if partition and self.chance(0.5):
            grouped.append(node("clause", f" GROUP BY {table.partition}"))
            if self.chance(0.6):
                items.append(node("item", f"{table.partition} AS {self.name('c')}"))
            if self.chance(0.3):
                grouped.append(node("clause", " HAVING count(*) > 3"))
        query = node(
            "query", Items("SELECT ", ", ", tuple(items), 1), f" FROM {table.name}",
            Items(" WHERE ", " AND ", where), Items("", "", tuple(grouped)),
        )  # fmt: skip
        return query, tuple(Column("", "int") for _ in items)

    def first_rows(self) -> tuple[Tree, Columns]:
        """The first rows of a table by a key, with a tie-breaker, under other operators."""
        self.correlates = False
        table = self.table()
        columns = self.columns[table.name]
        key = self.rng.choice(columns)
        keys = key.sql
        templates = [t for leaf in table.leaves if leaf.sql == key.sql
                     for t in EXPRESSIONS.get(leaf.kind.sql, [])]  # fmt: skip
        if templates and self.chance(0.3):
            keys = self.rng.choice(templates).format(key.sql)
        where = () if self.chance(0.4) else (self.base_filter(table),)
        inner = node(
            "query", f"SELECT * FROM {table.name}", Items(" WHERE ", " AND ", where),
            f" ORDER BY {keys} {self.direction()}, _row LIMIT {self.rng.choice([1, 2, 5, 20])}",
            optional(f" OFFSET {self.rng.choice([1, 7])}") if self.chance(0.15) else "",
        )  # fmt: skip
        alias = self.name("q")
        scope = qualified(columns, alias)
        if self.chance(0.5):
            columns = tuple(self.rng.sample(scope, min(2, len(scope))))
            listed = tuple(node("item", f"{c.sql} AS {self.name('c')}") for c in columns)
            outer = node("query", Items("SELECT ", ", ", listed, 1), " FROM (", inner, f") {alias}")
            return outer, columns
        other, others = self.relation(0)
        key_pair = self.pair(scope, others)
        return (
            node("query", f"SELECT {alias}._row AS {self.name('c')} FROM (", inner, f") {alias} ",
                 self.rng.choice(["JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]), " ",
                 other, " ON ", key_pair),
            (Column("", "int"),),
        )  # fmt: skip

    def with_ctes(self, depth: int) -> tuple[Tree, Columns]:
        """WITH, and a query that uses its names, usually more than once."""
        made: list[Tree] = []
        for _ in range(self.rng.choice([1, 1, 2])):
            query, columns = self.query(max(depth - 1, 0))
            name = self.name("w")
            made.append(node("cte", f"{name} AS (", query, ")"))
            self.ctes.append((name, columns))
        query, columns = self.query(max(depth, 1))
        return node("query", Items("WITH ", ", ", tuple(made)), " ", query), columns

    def recursive(self) -> tuple[Tree, Columns]:
        """WITH RECURSIVE: a few steps from some keys to others through the rows of a table."""
        name, alias = self.name("r"), self.name("x")
        table, scope = self.base()
        keys = [c for c in scope if c.is_key and c.family == "int"] or [
            c for c in scope if c.family == "int"
        ]
        start, step = self.rng.choice(keys), self.rng.choice(keys)
        follow = f"CAST({step.sql} AS BIGINT)"
        if self.chance(0.3):
            follow = self.rng.choice(
                [f"coalesce({follow}, 7L)", f"{follow} + 1L", f"{alias}.n + 1L"]
            )
        seed: Tree | str = self.rng.choice(["0L", "3L", "7L", "20L", "40L", "CAST(NULL AS BIGINT)"])
        anchor: Tree = node("query", f"SELECT {seed} AS n, 0 AS depth")
        if self.chance(0.4):
            other, others = self.base()
            column = self.rng.choice([c for c in others if c.family == "int"])
            anchor = node("query", f"SELECT CAST({column.sql} AS BIGINT) AS n, 0 AS depth FROM ", other,
                          f" WHERE {column.sql} BETWEEN 3 AND {self.rng.choice([3, 5, 9])}")  # fmt: skip
        on = f"{start.sql} = {alias}.n"
        limit = f"{alias}.depth < {self.rng.choice([1, 2, 3])}"
        extra = Items(" AND ", " AND ", (self.condition(scope, 0),) if self.chance(0.4) else ())
        source = self.rng.choice(["join", "join", "join", "comma", "left", "in", "exists"])
        if source == "comma":
            body: tuple[Tree | str, ...] = (
                f" FROM {name} {alias}, ",
                table,
                f" WHERE {on} AND {limit}",
                extra,
            )
        elif source == "in":
            follow = f"{alias}.n + 1L"
            body = (f" FROM {name} {alias} WHERE {alias}.n IN (SELECT {start.sql} FROM ", table,
                    f") AND {limit}")  # fmt: skip
        elif source == "exists":
            follow = f"{alias}.n + 1L"
            body = (f" FROM {name} {alias} WHERE EXISTS (SELECT 1 FROM ", table,
                    f" WHERE {on}", extra, f") AND {limit}")  # fmt: skip
        else:
            word = "LEFT JOIN" if source == "left" else "JOIN"
            body = (f" FROM {name} {alias} {word} ", table, f" ON {on} WHERE {limit}", extra)
        step_query = node("query", f"SELECT {follow}, {alias}.depth + 1", *body)
        self.ctes.append(
            (name, (Column("n", "int", ("7", "20"), True), Column("depth", "int", ("1", "2"))))
        )
        after: Tree
        if self.chance(0.6):
            after, columns = node("query", f"SELECT n, depth FROM {name}"), self.ctes[-1][1]
        else:
            after, columns = self.query(1)
        return (
            node("recursion", f"WITH RECURSIVE {name}(n, depth) AS (", anchor, " UNION ALL ", step_query,
                 ") ", after),
            columns,
        )  # fmt: skip
