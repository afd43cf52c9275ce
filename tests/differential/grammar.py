"""The grammar of random queries: one method of `Grammar` for each production.

A production returns a tree of SQL (tests.differential.tree) and, where it is a relation or a query, the
columns that it offers. Every name that a statement gives is new, so that a part keeps its meaning
wherever shrinking moves it. What Spark does not define is avoided rather than tolerated: inner LIMITs
sort by all columns, window functions order by columns that decide, sums are of exact numbers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tests.differential.random_predicates import conjunction, literal, predicate
from tests.differential.random_tables import RandomTable
from tests.differential.tree import Items, Node, Tree, node, optional
from tests.differential.worlds import EXPRESSIONS

T = TypeVar("T")

#: Types that behave alike in an expression, by their name in SQL.
FAMILIES = {
    **dict.fromkeys(["TINYINT", "SMALLINT", "INT", "BIGINT"], "int"),
    **dict.fromkeys(["FLOAT", "DOUBLE"], "dbl"),
    "DECIMAL": "dec",
    "STRING": "str",
    "BINARY": "bin",
    "DATE": "date",
    "TIMESTAMP": "ts",
    "TIMESTAMP_NTZ": "ntz",
    "BOOLEAN": "bool",
}
#: Families whose values are compared with one another.
KIN = [("int", "dec", "dbl"), ("date", "ts", "ntz"), ("str",), ("bool",), ("bin",)]
COMPARISONS = ["=", "<>", "<", "<=", ">", ">=", "<", ">=", "<=>"]
JOINS = [
    *["JOIN"] * 3,
    *["LEFT JOIN"] * 3,
    *["RIGHT JOIN"] * 2,
    *["FULL JOIN"] * 2,
    "LEFT SEMI JOIN",
    "LEFT ANTI JOIN",
    "CROSS JOIN",
]


@dataclass(frozen=True)
class Column:
    """A column in scope.

    Attributes:
        sql: How it is written.
        family: Its family of types.
        samples: Literals of values that it may have.
        is_key: Whether its values are few, small, and shared with other tables.
    """

    sql: str
    family: str
    samples: tuple[str, ...] = ()
    is_key: bool = False


Columns = tuple[Column, ...]


@dataclass(frozen=True)
class Statement:
    """A query, and the clauses that decide how its answers are compared.

    Attributes:
        query: The query without ORDER BY, LIMIT and OFFSET of the outermost SELECT.
        order: Places of output columns to sort by, with direction, such as "2 DESC".
        tail: LIMIT and OFFSET.
    """

    query: Tree
    order: Items
    tail: Items

    @property
    def whole(self) -> str:
        """The query, all rows in any order."""
        return str(self.query)

    @property
    def sql(self) -> str:
        """The text that runs."""
        return f"{self.query}{self.order}{self.tail}"

    @property
    def keys(self) -> list[int]:
        """Which output columns the rows are sorted by, from 0."""
        return [int(str(each).split()[0]) - 1 for each in self.order.items]


def family_of(sql_type: str) -> str:
    """The family of a type."""
    return FAMILIES[sql_type.partition("(")[0]]


def kin_of(family: str) -> tuple[str, ...]:
    """The families that values of this one are compared with."""
    return next(each for each in KIN if family in each)


def columns_of(table: RandomTable) -> Columns:
    """The columns of a table, as yet without an alias."""
    found = [Column("_row", "int", tuple(f"{n}L" for n in range(0, table.rows + 2, 3)), True)]
    for leaf in table.leaves:
        samples = tuple(literal(value, leaf.kind.sql) for value in leaf.samples)
        is_key = leaf.sql in ("`k`", "`p`") and family_of(leaf.kind.sql) != "dbl"
        found.append(Column(leaf.sql, family_of(leaf.kind.sql), samples, is_key))
    return tuple(found)


class Grammar:
    """Draws statements over tables. The same generator of random numbers draws the same ones."""

    def __init__(
        self, rng: random.Random, tables: Sequence[RandomTable], only: Sequence[str] = ()
    ) -> None:
        """Draw from `rng` over `tables`; `only`: names of productions that statements start with."""
        self.rng = rng
        self.only = only
        self.tables = tables
        self.columns = {table.name: columns_of(table) for table in tables}
        self.ctes: list[tuple[str, Columns]] = []
        self.names = 0
        self.products = 0

    # Helpers

    def name(self, letter: str) -> str:
        """A name that the statement has not given yet."""
        self.names += 1
        return f"{letter}{self.names}"

    def chance(self, share: float) -> bool:
        """True, that often."""
        return self.rng.random() < share

    def one_of(self, *weighted: tuple[int, Callable[[], T]]) -> T:
        """What one of these productions gives, drawn by weight."""
        weights = [weight for weight, _ in weighted]
        return self.rng.choices([make for _, make in weighted], weights)[0]()

    def table(self) -> RandomTable:
        """One of the tables."""
        return self.rng.choice(list(self.tables))

    # Statements

    def statement(self) -> Statement:
        """A whole query."""
        self.ctes, self.products, self.names = [], 0, 0
        depth = self.rng.choice([0, 0, 1, 1, 1, 2, 2, 3])
        productions: dict[str, tuple[int, Callable[[], tuple[Tree, Columns]]]] = {
            "query": (50, lambda: self.query(depth)),
            "join": (10, lambda: self.joined_again(depth)),
            "statistics": (12, self.of_statistics),
            "first": (10, self.first_rows),
            "with": (8, lambda: self.with_ctes(depth)),
            "recursive": (7, self.recursive),
            "filters": (8, self.filters),
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

    def direction(self) -> str:
        """How to sort."""
        return self.rng.choice(["", "DESC", "ASC NULLS LAST", "DESC NULLS FIRST"])

    def filters(self) -> tuple[Tree, Columns]:
        """The rows of several filters of one table: many predicates for the price of one statement."""
        table = self.table()
        branches = tuple(
            node("query", f"SELECT {number} AS filter, _row FROM {table.name}",
                 Items(" WHERE ", " AND ", (self.raw(table),)))
            for number in range(6)
        )  # fmt: skip
        return Items("", " UNION ALL ", branches, 1), (Column("", "int"), Column("", "int"))

    def of_statistics(self) -> tuple[Tree, Columns]:
        """MIN, MAX and COUNT right over a table, which statistics may answer."""
        table = self.table()
        columns = self.columns[table.name]
        partition = [c for c in columns if c.sql == table.partition]
        found: list[Tree] = []
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            column = self.rng.choice(columns).sql
            call = self.rng.choice(["count(*)", f"count({column})", f"min({column})", f"max({column})",
                                    f"min({column})", f"max({column})"])  # fmt: skip
            found.append(node("item", call, f" AS {self.name('c')}"))
        if self.chance(0.06):
            found.append(node("item", f"sum(_row) AS {self.name('c')}"))
        if self.chance(0.05):
            found.append(node("item", f"count(*) FILTER (WHERE _row > 5) AS {self.name('c')}"))
        where = () if self.chance(0.4) else (self.base_filter(table),)
        grouped: list[Tree] = []
        if partition and self.chance(0.5):
            grouped.append(node("clause", f" GROUP BY {table.partition}"))
            if self.chance(0.6):
                found.append(node("item", f"{table.partition} AS {self.name('c')}"))
            if self.chance(0.3):
                grouped.append(node("clause", " HAVING count(*) > 3"))
        query = node(
            "query", Items("SELECT ", ", ", tuple(found), 1), f" FROM {table.name}",
            Items(" WHERE ", " AND ", where), Items("", "", tuple(grouped)),
        )  # fmt: skip
        return query, tuple(Column("", "int") for _ in found)

    def first_rows(self) -> tuple[Tree, Columns]:
        """The first rows of a table by a key, then everything else as decides."""
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
        scope = self.qualified(columns, alias)
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

    # Queries

    def query(self, depth: int, want: Sequence[str] | None = None) -> tuple[Node, Columns]:
        """A query with these families of columns, or with any."""
        if depth > 0 and self.chance(0.18):
            return self.set_operation(depth, want)
        if want is not None:
            return self.plain(depth, want)
        return self.one_of(
            (40, lambda: self.plain(depth)),
            (22, lambda: self.grouped(depth)),
            (12, lambda: self.aggregate(depth)),
            (8, lambda: self.distinct(depth)),
            (9, lambda: self.windowed(depth)),
            (9, lambda: self.joined_again(depth)),
        )

    def set_operation(self, depth: int, want: Sequence[str] | None) -> tuple[Node, Columns]:
        """Two queries, as sets or as bags."""
        families = want or [self.rng.choice(["int", "int", "dec", "str", "date", "ts", "dbl"])
                            for _ in range(self.rng.choice([1, 2, 2]))]  # fmt: skip
        left, columns = self.query(depth - 1, families)
        right, _ = self.query(self.rng.choice([0, depth - 1]), families)
        word = self.rng.choice(
            [
                "UNION ALL",
                "UNION ALL",
                "UNION",
                "INTERSECT",
                "EXCEPT",
                "INTERSECT ALL",
                "EXCEPT ALL",
            ]
        )
        return node("query", "(", left, f") {word} (", right, ")"), columns

    def plain(self, depth: int, want: Sequence[str] | None = None) -> tuple[Node, Columns]:
        """SELECT expressions FROM … WHERE …"""
        source, scope = self.relation(depth)
        families = want or self.some_families(scope, self.rng.choice([1, 2, 2, 3]))
        listed, columns = self.items([self.expression(f, scope, depth) for f in families])
        hint = self.rng.choice(["BROADCAST", "MERGE", "SHUFFLE_HASH"]) if self.chance(0.05) else ""
        select = "SELECT "
        if hint and len(scope):
            select = f"SELECT /*+ {hint}({scope[-1].sql.split('.')[0]}) */ "
        return node("query", Items(select, ", ", listed, 1), " FROM ", source,
                    self.where(scope, depth)), columns  # fmt: skip

    def items(self, made: Sequence[tuple[Node, Column]]) -> tuple[tuple[Tree, ...], Columns]:
        """Expressions with new names, and the columns that they become."""
        names = [self.name("c") for _ in made]
        listed = tuple(node("item", e, f" AS {n}") for (e, _), n in zip(made, names, strict=True))
        return listed, tuple(replace(c, sql=n) for (_, c), n in zip(made, names, strict=True))

    def distinct(self, depth: int) -> tuple[Node, Columns]:
        """SELECT DISTINCT."""
        source, scope = self.relation(depth)
        families = self.some_families(scope, self.rng.choice([1, 1, 2]))
        listed, columns = self.items([self.expression(f, scope, depth) for f in families])
        return node("query", Items("SELECT DISTINCT ", ", ", listed, 1), " FROM ", source,
                    self.where(scope, depth)), columns  # fmt: skip

    def aggregate(self, depth: int) -> tuple[Node, Columns]:
        """Aggregates over everything."""
        source, scope = self.relation(depth)
        made = [self.call(scope) for _ in range(self.rng.choice([1, 1, 2, 3]))]
        listed, columns = self.items(made)
        having = (self.having(scope),) if self.chance(0.15) else ()
        return node("query", Items("SELECT ", ", ", listed, 1), " FROM ", source,
                    self.where(scope, depth), Items(" HAVING ", " AND ", having)), columns  # fmt: skip

    def grouped(self, depth: int) -> tuple[Node, Columns]:
        """GROUP BY columns, or ROLLUP, CUBE and GROUPING SETS of them."""
        if self.chance(0.5):  # over expressions: in a query of their own, by name
            below, made = self.plain(depth)
            alias = self.name("q")
            source, scope = node("rel", "(", below, f") {alias}"), self.qualified(made, alias)
        else:
            source, scope = self.relation(depth)
        count = min(len(scope), self.rng.choice([1, 1, 2, 2, 3]))
        preferred = [c for c in scope if c.is_key] if self.chance(0.5) else []
        keys = self.rng.sample(preferred or scope, min(count, len(preferred or scope)))
        by = [node("key", c.sql) for c in keys]
        texts = ", ".join(c.sql for c in keys)
        how = self.rng.random()
        if how < 0.55:
            group: Tree = Items(" GROUP BY ", ", ", tuple(by))
        elif how < 0.7:
            group = node("clause", f" GROUP BY ROLLUP({texts})", simpler=(f" GROUP BY {texts}",))
        elif how < 0.85:
            group = node("clause", f" GROUP BY CUBE({texts})", simpler=(f" GROUP BY {texts}",))
        else:
            sets = [f"({c.sql})" for c in keys] + [self.rng.choice(["()", f"({texts})"])]
            group = node("clause", f" GROUP BY GROUPING SETS ({', '.join(sets)})",
                         simpler=(f" GROUP BY {texts}",))  # fmt: skip
        shown = [(node(c.family, c.sql), c) for c in keys]
        calls = [self.call(scope) for _ in range(self.rng.choice([0, 1, 1, 2]))]
        if how >= 0.55 and self.chance(0.4):
            calls.append((node("int", f"grouping({keys[0].sql})"), Column("", "int", ("1", "0"))))
        listed, columns = self.items(shown + calls)
        having = (self.having(scope),) if self.chance(0.25) else ()
        return node("query", Items("SELECT ", ", ", listed, 1), " FROM ", source,
                    self.where(scope, depth), group, Items(" HAVING ", " AND ", having)), columns  # fmt: skip

    def having(self, scope: Columns) -> Node:
        """A condition of groups."""
        call, column = self.call(scope)
        if self.chance(0.2):
            return node("pred", call, " IS NOT NULL")
        return node(
            "pred",
            call,
            f" {self.rng.choice(COMPARISONS)} ",
            self.constant(column.family, (column,)),
        )

    def windowed(self, depth: int) -> tuple[Node, Columns]:
        """Window functions; half of the time something is asked of them."""
        source, scope = self.relation(depth)
        made = [self.window(scope)]
        for family in self.some_families(scope, self.rng.choice([1, 2])):
            made.append(self.expression(family, scope, 0))
        listed, columns = self.items(made)
        inner = node("query", Items("SELECT ", ", ", listed, 1), " FROM ", source,
                     self.where(scope, depth))  # fmt: skip
        if self.chance(0.5):
            return inner, columns
        alias = self.name("q")
        scope = self.qualified(columns, alias)
        first = scope[0]
        condition = node(
            "pred", f"{first.sql} {self.rng.choice(['<=', '=', '<'])} {self.rng.choice('123')}"
        )
        listed, columns = self.items([(node(c.family, c.sql), c) for c in scope])
        return node("query", Items("SELECT ", ", ", listed, 1), " FROM (", inner, f") {alias}",
                    Items(" WHERE ", " AND ", (condition,))), columns  # fmt: skip

    def window(self, scope: Columns) -> tuple[Node, Column]:
        """A window function whose value ties do not change."""
        parts = self.rng.sample(scope, min(len(scope), self.rng.choice([0, 1, 1])))
        by = self.rng.choice(scope)
        argument = self.small(scope)
        partition = Items(
            "PARTITION BY ", ", ", tuple(node("key", c.sql) for c in parts), suffix=" "
        )
        order = f"ORDER BY {by.sql} {self.direction()}"
        everything = "ORDER BY " + ", ".join(c.sql for c in scope)
        call, clause = self.rng.choice(
            [
                ("rank()", order), ("dense_rank()", order), ("count(*)", ""), ("count(*)", order),
                (f"sum({argument})", order), (f"max({argument})", order), (f"min({argument})", ""),
                ("row_number()", everything), ("ntile(3)", everything),
                (f"sum({argument})", everything + " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING"),
            ]
        )  # fmt: skip
        return node("int", f"{call} OVER (", partition, clause, ")"), Column(
            "", "int", ("1", "2"), True
        )

    def joined_again(self, depth: int) -> tuple[Node, Columns]:
        """A table joined by a key that is computed above a join: the unknown member, and its kin."""
        below, columns, supplied = self.outer_join(depth)
        keys = [c for c in supplied if c.is_key] or list(supplied)
        column = self.rng.choice(keys)
        key = self.nullish(column, columns)
        listed, made = self.items([(key, column), *self.expressions(columns, 1)])
        where = self.where(columns, 0) if self.chance(0.3) else ""
        inner: Tree = node("query", Items("SELECT ", ", ", listed, 1), " FROM ", below, where)
        shape = self.rng.random()
        if shape < 0.15:
            inner = node("query", "SELECT DISTINCT * FROM (", inner, ")")
        elif shape < 0.3:
            listed, made = self.items([(node("int", made[0].sql), made[0])])
            alias = self.name("q")
            inner = node("query", Items("SELECT ", ", ", listed, 1), " FROM (", inner,
                         f") {alias} GROUP BY ALL")  # fmt: skip
        elif shape < 0.42:
            listed, made = self.items([(node("int", made[0].sql), made[0])])
            other, scope = self.relation(0)
            branch = self.expression(made[0].family, scope, 0)[0]
            inner = node("query", "(", node("query", Items("SELECT ", ", ", listed, 1), " FROM (",
                         inner, f") {self.name('q')}"), ") UNION ALL (SELECT ", branch, " FROM ",
                         other, ")")  # fmt: skip
        other, scope = self.base()
        partners = [c for c in scope if c.family in kin_of(made[0].family) and c.is_key] or [
            c for c in scope if c.family in kin_of(made[0].family)
        ]
        if not partners:
            return self.plain(depth)
        partner = self.rng.choice(partners).sql
        alias = self.name("q")
        if self.chance(0.3):
            word = self.rng.choice(["IN", "IN", "NOT IN"])
            listed, columns = self.items(self.expressions(scope, 2))
            one = node("query", f"SELECT {made[0].sql} FROM (", inner, f") {alias}")
            return node("query", Items("SELECT ", ", ", listed, 1), " FROM ", other,
                        f" WHERE {partner} {word} (", one, ")"), columns  # fmt: skip
        both = (*self.qualified(made, alias), *scope)
        kind = self.rng.choice(["JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN"])
        listed, columns = self.items(self.expressions(both, 2))
        return node("query", Items("SELECT ", ", ", listed, 1), " FROM (", inner, f") {alias} {kind} ",
                    other, f" ON {alias}.{made[0].sql} = {partner}"), columns  # fmt: skip

    def with_ctes(self, depth: int) -> tuple[Tree, Columns]:
        """WITH, and a query that uses what it names, mostly more than once."""
        made: list[Tree] = []
        for _ in range(self.rng.choice([1, 1, 2])):
            query, columns = self.query(max(depth - 1, 0))
            name = self.name("w")
            made.append(node("cte", f"{name} AS (", query, ")"))
            self.ctes.append((name, columns))
        query, columns = self.query(max(depth, 1))
        return node("query", Items("WITH ", ", ", tuple(made)), " ", query), columns

    def recursive(self) -> tuple[Tree, Columns]:
        """WITH RECURSIVE: from a few keys to others, by the rows of a table, a few times."""
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

    # Relations

    def relation(self, depth: int) -> tuple[Node, Columns]:
        """Anything that FROM may name."""
        if depth <= 0:
            return self.base()
        return self.one_of(
            (22, self.base),
            (40, lambda: self.join(depth)),
            (22, lambda: self.derived(depth)),
            (6, lambda: self.lateral(depth)),
            (5, lambda: self.exploded(depth)),
            (3, lambda: self.unpivoted()),
            (2, lambda: self.inline()),
        )

    def base(self, filtered: bool = False) -> tuple[Node, Columns]:
        """A table, all of its rows or those of a filter; or what WITH names."""
        if self.ctes and self.chance(0.5) and not filtered:
            cte, columns = self.rng.choice(self.ctes)
            alias = self.name("t")
            return node("rel", f"{cte} {alias}"), self.qualified(columns, alias)
        table, alias = self.table(), self.name("t")
        columns = self.columns[table.name]
        scope = self.qualified(columns, alias)
        if self.chance(0.6) and not filtered:
            return node("rel", f"{table.name} {alias}"), scope
        extra = ""
        if self.chance(0.06):
            extra = ", _metadata.file_size AS size, _metadata.row_index AS at"
            scope = (*scope, Column(f"{alias}.at", "int", ("1", "5")))
        return (
            node("rel", f"(SELECT *{extra} FROM {table.name}",
                 Items(" WHERE ", " AND ", (self.base_filter(table),)), f") {alias}"),
            scope,
        )  # fmt: skip

    def base_filter(self, table: RandomTable) -> Node:
        """A predicate right over a table, whose columns have no alias."""
        if self.chance(0.65):
            low = self.rng.randint(-1, max(table.rows, 1))
            high = low + self.rng.choice([3, 10, 20, 40])
            return node("pred", self.rng.choice(
                [f"_row >= {low}", f"_row < {high}", f"_row BETWEEN {low} AND {high}",
                 f"_row + 1 BETWEEN {low} AND {high}", f"_row IN ({low}, {high})"]))  # fmt: skip
        return self.raw(table)

    def raw(self, table: RandomTable) -> Node:
        """A predicate of tests.differential.random_predicates."""
        text = self.rng.choice([predicate, predicate, conjunction])(self.rng, table)
        if self.chance(0.15):
            found = [t.format(leaf.sql) for leaf in table.leaves
                     for t in EXPRESSIONS.get(leaf.kind.sql, [])]  # fmt: skip
            if found:
                text = self.computed(self.rng.choice(found), table)
        return node("pred", f"({text})")

    def computed(self, value: str, table: RandomTable) -> str:
        """A predicate over an expression that an index may have recorded."""
        constant = self.rng.choice(["'B'", "'A000'", "'0'", "'Mon'", "2", "0", "1"])
        sample = f"(SELECT max({value}) FROM {table.name} WHERE _row < {self.rng.randint(1, table.rows + 1)})"
        return self.rng.choice(
            [
                f"TRY_CAST({value} AS STRING) = {constant}",
                f"CAST({value} AS STRING) IN ('1', '2', 'A', 'B', 'Sun')",
                f"{value} IS NULL",
                f"{value} <=> {sample}",
                f"{value} = {value} AND {value} IS NOT NULL",
            ]
        )

    def derived(self, depth: int) -> tuple[Node, Columns]:
        """A query as a table, at times its first rows only."""
        query, columns = self.query(depth - 1)
        alias = self.name("q")
        first: Tree | str = ""
        if self.chance(0.15):
            rows = self.rng.choice([1, 3, 10])
            first = optional(f" ORDER BY ALL {self.rng.choice(['', 'DESC'])} LIMIT {rows}")
        return node("rel", "(", query, first, f") {alias}"), self.qualified(columns, alias)

    def outer_join(self, depth: int) -> tuple[Node, Columns, Columns]:
        """An outer join of tables, its columns, and those of them that it may fill with NULL."""
        kind = self.rng.choice(["LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        sides = [self.base() if depth < 2 else self.relation(depth - 2) for _ in range(2)]
        few = 0 if kind == "RIGHT JOIN" else 1
        if self.chance(0.6):
            sides[few] = self.base(filtered=True)
        (left, left_scope), (right, right_scope) = sides
        condition = Items("", " AND ", (self.pair(left_scope, right_scope),), 1)
        if " JOIN " in str(right):
            right = node("rel", "(", right, ")")
        joined = node("rel", left, f" {kind} ", right, " ON ", condition)
        return joined, (*left_scope, *right_scope), sides[few][1]

    def join(self, depth: int) -> tuple[Node, Columns]:
        """Two relations, joined."""
        left, left_scope = self.relation(depth - 1)
        right, right_scope = self.relation(self.rng.choice([0, 0, depth - 1]))
        kind = self.rng.choice(JOINS)
        both = (*left_scope, *right_scope)
        if kind == "CROSS JOIN" and self.products >= 1:
            kind = "JOIN"
        if kind == "CROSS JOIN":
            self.products += 1
            few = node("rel", "(SELECT * FROM ", right, " ORDER BY ALL LIMIT 3)")
            return node("rel", left, " CROSS JOIN ", few), left_scope
        shared = {c.sql.split(".", 1)[1] for c in left_scope} & {
            c.sql.split(".", 1)[1] for c in right_scope
        } & {"`k`", "_row", "`p`"}  # fmt: skip
        if (
            shared
            and kind != "LEFT ANTI JOIN"
            and self.chance(0.08)
            and " JOIN " not in f"{left}{right}"
        ):
            return self.using(left, right, kind, self.rng.choice(sorted(shared)), both)
        condition = Items("", " AND ", (self.pair(left_scope, right_scope),), 1)
        if self.chance(0.2):
            condition = replace(condition, items=(*condition.items, self.condition(both, 0)))
        if self.chance(0.08):
            condition = replace(
                condition, items=(*condition.items, self.pair(left_scope, right_scope))
            )
        scope = left_scope if kind in ("LEFT SEMI JOIN", "LEFT ANTI JOIN") else both
        joined = node("rel", left, f" {kind} ", "(" if " JOIN " in str(right) else "", right,
                      ")" if " JOIN " in str(right) else "", " ON ", condition)  # fmt: skip
        return joined, scope

    def using(
        self, left: Node, right: Node, kind: str, column: str, both: Columns
    ) -> tuple[Node, Columns]:
        """JOIN … USING, whose key is that of one side, or of either in a full join."""
        alias = self.name("q")
        name = self.name("c")
        key = next(c for c in both if c.sql.endswith(f".{column}"))
        inner = node(
            "query",
            f"SELECT {column} AS {name} FROM ",
            left,
            f" {kind} ",
            right,
            f" USING ({column})",
        )
        return node("rel", "(", inner, f") {alias}"), (replace(key, sql=f"{alias}.{name}"),)

    def pair(self, left: Columns, right: Columns) -> Node:
        """A key of one side equals a key of the other."""
        pairs = [(a, b) for a in left for b in right
                 if b.family in kin_of(a.family) and a.family != "bool"]  # fmt: skip
        preferred = [(a, b) for a, b in pairs if a.is_key and b.is_key]
        if not pairs:
            return node("pred", "1 = 1") if self.chance(0.2) else node("pred", "1 = 2")
        a, b = self.rng.choice(preferred if preferred and self.chance(0.85) else pairs)
        sides = [self.nullish(a, left) if self.chance(0.25) else node(a.family, a.sql),
                 self.nullish(b, right) if self.chance(0.25) else node(b.family, b.sql)]  # fmt: skip
        equal = self.rng.choice(["="] * 12 + ["<=>"])
        return node("pred", sides[0], f" {equal} ", sides[1])

    def lateral(self, depth: int) -> tuple[Node, Columns]:
        """A subquery that sees the columns of what stands before it."""
        left, scope = self.relation(depth - 1)
        right, inner = self.base()
        condition = self.pair(inner, scope)
        alias = self.name("q")
        if self.chance(0.5):
            made, column = self.call(inner)
        else:
            made, column = self.expression(self.some_families(inner, 1)[0], inner, 0)
        name = self.name("c")
        body = node(
            "query",
            "SELECT ",
            made,
            f" AS {name} FROM ",
            right,
            Items(" WHERE ", " AND ", (condition,)),
        )
        word = self.rng.choice([" JOIN LATERAL (", " LEFT JOIN LATERAL (", " CROSS JOIN LATERAL ("])
        return node("rel", left, word, body, f") {alias}", "" if "CROSS" in word else " ON TRUE"), (
            *scope,
            replace(column, sql=f"{alias}.{name}"),
        )

    def exploded(self, depth: int) -> tuple[Node, Columns]:
        """LATERAL VIEW explode."""
        below, scope = self.relation(depth - 1)
        column = self.rng.choice([c for c in scope if c.is_key] or scope)
        alias, name = self.name("v"), self.name("c")
        outer = self.rng.choice(["", "OUTER "])
        values = f"array({column.sql}, {self.nullish(column, scope)})"
        if self.chance(0.3):
            values = f"if({column.sql} IS NULL, array(), {values})"
        if " JOIN " in str(below):
            below = node("rel", "(", below, ")")
        return node("rel", below, f" LATERAL VIEW {outer}explode({values}) {alias} AS {name}"), (
            *scope,
            replace(column, sql=f"{alias}.{name}"),
        )

    def unpivoted(self) -> tuple[Node, Columns]:
        """UNPIVOT of two columns of a kind."""
        table = self.table()
        alias, value, label = self.name("q"), self.name("c"), self.name("c")
        nulls = self.rng.choice(["INCLUDE", "EXCLUDE"])
        key = next(c for c in self.columns[table.name] if c.sql == "`k`")
        where = Items(" WHERE ", " AND ", (self.base_filter(table),) if self.chance(0.5) else ())
        inner = f"CAST(`k` AS STRING) AS a, CAST(p AS STRING) AS b, _row FROM {table.name}"
        return node("rel", f"(SELECT * FROM (SELECT {inner}", where,
                    f") UNPIVOT {nulls} NULLS ({value} FOR {label} IN (a, b))) {alias}"), (
            Column(f"{alias}.{value}", "str", tuple(f"CAST({s} AS STRING)" for s in key.samples), True),
            Column(f"{alias}.{label}", "str", ("'a'", "'b'")),
            Column(f"{alias}._row", "int", ("3", "9"), True),
        )  # fmt: skip

    def inline(self) -> tuple[Node, Columns]:
        """A table of VALUES."""
        alias = self.name("q")
        rows = [f"({self.rng.choice(['-1', '0', '7', '20', 'NULL'])}, 'a')" for _ in range(3)]
        return node("rel", f"(VALUES {', '.join(rows)}) {alias}(n, s)"), (
            Column(f"{alias}.n", "int", ("-1", "7"), True),
            Column(f"{alias}.s", "str", ("'a'",)),
        )

    # Conditions

    def where(self, scope: Columns, depth: int) -> Items:
        """WHERE, or nothing."""
        count = self.rng.choice([0, 0, 0, 1, 1, 2])
        return Items(" WHERE ", " AND ", tuple(self.condition(scope, depth) for _ in range(count)))

    def condition(self, scope: Columns, depth: int) -> Node:
        """A predicate over columns in scope."""
        weight = 4 if depth > 0 else 0
        return self.one_of(
            (30, lambda: self.comparison(scope)),
            (10, lambda: self.null_test(scope)),
            (8, lambda: self.membership(scope)),
            (6, lambda: self.between(scope)),
            (4, lambda: node("pred", "NOT (", self.condition(scope, 0), ")")),
            (8, lambda: node("pred", "(", self.condition(scope, 0), " OR ", self.condition(scope, depth), ")")),
            (4, lambda: node("pred", "(", self.condition(scope, 0), " AND ", self.condition(scope, 0), ")")),
            (2 * weight, lambda: self.in_subquery(scope, depth)),
            (2 * weight, lambda: self.exists(scope, depth)),
            (2 * weight, lambda: self.against_scalar(scope, depth)),
        )  # fmt: skip

    def comparison(self, scope: Columns) -> Node:
        """A column, or an expression over it, against a constant or another column."""
        column = self.rng.choice(scope)
        left = self.nullish(column, scope) if self.chance(0.3) else node(column.family, column.sql)
        others = [c for c in scope if c.family in kin_of(column.family) and c is not column]
        if others and self.chance(0.2):
            other = self.rng.choice(others)
            right = node(other.family, other.sql)
        else:
            right = self.constant(column.family, (column,))
        return node("pred", left, f" {self.rng.choice(COMPARISONS)} ", right)

    def null_test(self, scope: Columns) -> Node:
        """IS NULL and its opposite."""
        return node("pred", f"{self.rng.choice(scope).sql} IS {self.rng.choice(['', 'NOT '])}NULL")

    def membership(self, scope: Columns) -> Node:
        """IN a list."""
        column = self.rng.choice(scope)
        values = tuple(
            self.constant(column.family, (column,)) for _ in range(self.rng.choice([1, 2, 4]))
        )
        return node("pred", column.sql, self.rng.choice([" IN", " IN", " NOT IN"]),
                    Items(" (", ", ", values, 1, ")"))  # fmt: skip

    def between(self, scope: Columns) -> Node:
        """BETWEEN."""
        column = self.rng.choice(scope)
        return node("pred", f"{column.sql} BETWEEN ", self.constant(column.family, (column,)), " AND ",
                    self.constant(column.family, (column,)))  # fmt: skip

    def in_subquery(self, scope: Columns, depth: int) -> Node:
        """[NOT] IN (SELECT …)."""
        column = self.rng.choice([c for c in scope if c.is_key] or scope)
        source, inner = self.relation(depth - 1)
        partners = [c for c in inner if c.family in kin_of(column.family)]
        if not partners:
            return self.comparison(scope)
        partner = self.rng.choice([c for c in partners if c.is_key] or partners)
        made = (
            self.nullish(partner, inner) if self.chance(0.4) else node(partner.family, partner.sql)
        )
        conditions: list[Tree] = []
        if self.chance(0.4):
            conditions.append(self.condition(inner, 0))
        if self.chance(0.15):
            conditions.append(self.pair(inner, scope))
        word = self.rng.choice(["IN", "IN", "IN", "NOT IN"])
        return node("pred", f"{column.sql} {word} (SELECT ", made, " FROM ", source,
                    Items(" WHERE ", " AND ", tuple(conditions)), ")")  # fmt: skip

    def exists(self, scope: Columns, depth: int) -> Node:
        """[NOT] EXISTS, correlated."""
        source, inner = self.relation(depth - 1)
        conditions = [self.pair(inner, scope)]
        if self.chance(0.3):
            conditions.append(self.condition(inner, 0))
        word = self.rng.choice(["EXISTS", "EXISTS", "NOT EXISTS"])
        return node(
            "pred",
            f"{word} (SELECT 1 FROM ",
            source,
            Items(" WHERE ", " AND ", tuple(conditions)),
            ")",
        )

    def against_scalar(self, scope: Columns, depth: int) -> Node:
        """A column against the value of a subquery."""
        column = self.rng.choice(scope)
        value = self.scalar(column.family, scope, depth)
        return node("pred", f"{column.sql} {self.rng.choice(COMPARISONS)} ", value)

    def scalar(self, family: str, scope: Columns, depth: int) -> Node:
        """(SELECT max(…) FROM …), at times correlated."""
        source, inner = self.base() if depth < 2 else self.relation(depth - 1)
        partners = [c for c in inner if c.family == family and c.family != "bool"]
        if not partners:
            return self.constant(family, scope)
        partner = self.rng.choice(partners)
        argument = self.nullish(partner, inner) if self.chance(0.2) else node(family, partner.sql)
        conditions: list[Tree] = [self.condition(inner, 0)] if self.chance(0.5) else []
        if self.chance(0.3):
            conditions.append(self.pair(inner, scope))
        call = self.rng.choice(["min", "max", "max"])
        return node(family, f"(SELECT {call}(", argument, ") FROM ", source,
                    Items(" WHERE ", " AND ", tuple(conditions)), ")")  # fmt: skip

    # Expressions

    def some_families(self, scope: Columns, count: int) -> list[str]:
        """Families of columns in scope, keys first."""
        keys = [c for c in scope if c.is_key]
        return [
            self.rng.choice(keys if keys and self.chance(0.5) else scope).family
            for _ in range(count)
        ]

    def expressions(self, scope: Columns, count: int) -> list[tuple[Node, Column]]:
        """Some expressions."""
        return [self.expression(f, scope, 0) for f in self.some_families(scope, count)]

    def expression(self, family: str, scope: Columns, depth: int) -> tuple[Node, Column]:
        """An expression of the family, and what is known of its values."""
        found = [c for c in scope if c.family == family]
        if not found:
            return self.converted(family, scope), Column("", family)
        keys = [c for c in found if c.is_key]
        column = self.rng.choice(keys if keys and self.chance(0.6) else found)
        kind = self.rng.random()
        if kind < 0.5:
            return node(family, column.sql), column
        if kind < 0.8:
            return self.nullish(column, scope), column
        if kind < 0.86 and depth > 0:
            return self.scalar(family, scope, depth), replace(column, is_key=False)
        return self.computation(column), replace(column, is_key=column.is_key and family == "int")

    def nullish(self, column: Column, scope: Columns) -> Node:
        """An expression that turns NULL into something, or something into NULL."""
        e, value = column.sql, self.constant(column.family, (column, *scope))
        if column.is_key and self.chance(0.6):  # more likely a key elsewhere than here
            value = self.small_constant(column.family)
        same = [c.sql for c in scope if c.family == column.family]
        other = self.rng.choice(same) if same else e
        marker = self.rng.choice(scope).sql
        parts: tuple[Tree | str, ...] = self.rng.choice(
            [
                (f"coalesce({e}, ", value, ")"),
                (f"coalesce({e}, ", value, ")"),
                (f"coalesce({e}, {other})",),
                (f"coalesce({e}, {other}, ", value, ")"),
                (f"if({e} IS NULL, ", value, f", {e})"),
                (f"nvl2({e}, {e}, ", value, ")"),
                (f"nvl2({marker}, {e}, ", value, ")"),
                (f"CASE WHEN {e} IS NULL THEN ", value, f" ELSE {e} END"),
                (f"CASE WHEN {marker} IS NULL THEN ", value, f" ELSE {e} END"),
                (f"greatest({e}, ", value, ")"),
                (f"least({e}, ", value, ")"),
                (f"greatest({e}, {other})",),
                (f"nullif({e}, ", value, ")"),
                (f"CASE WHEN {e} IS NOT NULL THEN {e} END",),
                (f"if({marker} IS NOT NULL, {other}, ", value, ")"),
            ]
        )
        return Node(column.family, parts, (e,))

    def computation(self, column: Column) -> Node:
        """A function of the column that stays in its family."""
        e = column.sql
        by_family = {
            "int": [
                f"{e} % 7",
                f"try_add({e}, 1)",
                f"abs({e} % 100)",
                f"-({e} % 50)",
                f"{e} DIV 3",
            ],
            "dec": [f"{e} % 5", f"round({e}, 0)"],
            "dbl": [f"round({e}, 1)", f"{e} * 2"],
            "str": [f"upper({e})", f"substring({e}, 1, 1)", f"concat({e}, 'b')", f"trim({e})"],
            "date": [f"trunc({e}, 'MM')", f"last_day({e})", f"trunc({e}, 'YEAR')"],
            "ts": [f"date_trunc('DAY', {e})", f"date_trunc('MONTH', {e})"],
            "ntz": [f"{e} + INTERVAL 1 DAY"],
            "bool": [f"NOT {e}"],
            "bin": [e],
        }
        text = self.rng.choice(by_family[column.family])
        return node(column.family, text, simpler=(e,))

    def converted(self, family: str, scope: Columns) -> Node:
        """A constant, or a cast of a column of another family."""
        casts = {
            "str": (("int", "STRING"), ("date", "STRING")),
            "dbl": (("int", "DOUBLE"),),
            "dec": (("int", "DECIMAL(20, 2)"),),
            "date": (("ts", "DATE"),),
            "ts": (("date", "TIMESTAMP"),),
            "int": (("bool", "INT"),),
        }
        for source, target in casts.get(family, ()):
            found = [c for c in scope if c.family == source]
            if found and self.chance(0.8):
                return node(family, f"CAST({self.rng.choice(found).sql} AS {target})")
        return self.constant(family, scope)

    def constant(self, family: str, scope: Columns) -> Node:
        """A literal of the family, mostly a value of one of the columns."""
        samples = [s for c in scope if c.family == family for s in c.samples]
        if samples and self.chance(0.7):
            return node(family, self.rng.choice(samples))
        pool = {
            "int": ["-1", "0", "1", "7", "20", "100", "-1", "5L"],
            "dec": ["-1BD", "0BD", "7.5BD", "20BD"],
            "dbl": ["-1D", "0D", "2.5D", "CAST('NaN' AS DOUBLE)"],
            "str": ["'a'", "''", "'7'", "'-1'", "'zz'"],
            "date": ["DATE '1970-01-01'", "DATE '1972-03-01'"],
            "ts": ["TIMESTAMP '1970-01-01 00:00:00Z'", "TIMESTAMP '1971-05-05 00:00:00.0015Z'"],
            "ntz": ["TIMESTAMP_NTZ '1970-01-01 00:00:00'"],
            "bool": ["TRUE", "FALSE"],
            "bin": ["X'61'", "X''"],
        }
        if self.chance(0.04) and family != "bin":
            return node(family, "NULL")
        return node(family, self.rng.choice(pool[family]))

    def small_constant(self, family: str) -> Node:
        """A key that some table has: the row of another, or one out of the common domain."""
        number = self.rng.choice([-1, -1, 0, 7, self.rng.randint(0, 40), self.rng.randint(0, 90)])
        text = {"str": f"'{number}'", "dec": f"{number}BD", "dbl": f"{number}D"}
        return node(family, text.get(family, f"{number}L"))

    def small(self, scope: Columns) -> str:
        """A whole number that is small, whatever the order of a sum."""
        found = [c for c in scope if c.family == "int"]
        if not found:
            return "1"
        column = self.rng.choice([c for c in found if c.is_key] or found)
        return f"CAST({column.sql} AS BIGINT) % 1000"

    def call(self, scope: Columns) -> tuple[Node, Column]:
        """An aggregate whose value does not depend on the order of rows."""
        column = self.rng.choice([c for c in scope if c.is_key] if self.chance(0.4) else scope) if any(
            c.is_key for c in scope
        ) else self.rng.choice(scope)  # fmt: skip
        number = Column("", "int", ("1", "3", "10"))
        argument = (
            self.nullish(column, scope) if self.chance(0.2) else node(column.family, column.sql)
        )
        extra = ""
        if self.chance(0.06):
            extra = f" FILTER (WHERE {self.condition(scope, 0)})"
        kind = self.rng.random()
        if kind < 0.2:
            return node("int", "count(*)", extra), number
        if kind < 0.35:
            return node("int", "count(", argument, ")", extra), number
        if kind < 0.45:
            return node("int", "count(DISTINCT ", argument, ")", extra), number
        if kind < 0.6:
            return node("int", f"sum({self.small(scope)})", extra), number
        if column.family == "bool":
            return node("bool", "bool_or(", argument, ")", extra), replace(column, sql="")
        return node(
            column.family, f"{self.rng.choice(['min', 'max'])}(", argument, ")", extra
        ), column

    # Scopes

    @staticmethod
    def qualified(columns: Columns, alias: str) -> Columns:
        """The columns under an alias."""
        return tuple(replace(c, sql=f"{alias}.{c.sql}") for c in columns)
