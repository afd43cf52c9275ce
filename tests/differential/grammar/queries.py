"""SELECT in its forms: grouped, windowed, set operations, nested joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.differential.grammar.conditions import COMPARISONS
from tests.differential.grammar.relations import Relations
from tests.differential.grammar.scope import Column, Columns, kin_of, qualified
from tests.differential.tree import Items, Node, Tree, node


class Queries(Relations):
    """SELECT in its forms: grouped, windowed, set operations, nested joins."""

    def query(self, depth: int, want: Sequence[str] | None = None) -> tuple[Node, Columns]:
        """A query with columns of these families, or of any."""
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
        """A set operation of two queries, with or without ALL."""
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
        """Expressions with new names, and the resulting columns."""
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
        """Aggregates over all rows."""
        source, scope = self.relation(depth)
        made = [self.call(scope) for _ in range(self.rng.choice([1, 1, 2, 3]))]
        listed, columns = self.items(made)
        having = (self.having(scope),) if self.chance(0.15) else ()
        return node("query", Items("SELECT ", ", ", listed, 1), " FROM ", source,
                    self.where(scope, depth), Items(" HAVING ", " AND ", having)), columns  # fmt: skip

    def grouped(self, depth: int) -> tuple[Node, Columns]:
        """GROUP BY columns, or ROLLUP, CUBE and GROUPING SETS of them."""
        if self.chance(0.5):  # over expressions, which an inner query names
            below, made = self.plain(depth)
            alias = self.name("q")
            source, scope = node("rel", "(", below, f") {alias}"), qualified(made, alias)
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
        """A condition on groups."""
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
        """Window functions; half of the queries filter their results."""
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
        scope = qualified(columns, alias)
        first = scope[0]
        condition = node(
            "pred", f"{first.sql} {self.rng.choice(['<=', '=', '<'])} {self.rng.choice('123')}"
        )
        listed, columns = self.items([(node(c.family, c.sql), c) for c in scope])
        return node("query", Items("SELECT ", ", ", listed, 1), " FROM (", inner, f") {alias}",
                    Items(" WHERE ", " AND ", (condition,))), columns  # fmt: skip

    def window(self, scope: Columns) -> tuple[Node, Column]:
        """A window function whose value does not depend on ties."""
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
        """A table joined by a key that is computed above another join, as in an unknown member."""
        below, columns, supplied = self.outer_join(depth)
        keys = [c for c in supplied if c.is_key] or list(supplied)
        column = self.rng.choice(keys)
        key = self.filled(column, columns) if self.chance(0.7) else self.nullish(column, columns)
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
        other, scope = self.base(filtered=0.2)
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
        both = (*qualified(made, alias), *scope)
        kind = self.rng.choice([*["JOIN"] * 6, "LEFT JOIN", "RIGHT JOIN"])
        listed, columns = self.items(self.expressions(both, 2))
        return node("query", Items("SELECT ", ", ", listed, 1), " FROM (", inner, f") {alias} {kind} ",
                    other, f" ON {alias}.{made[0].sql} = {partner}"), columns  # fmt: skip
