"""Relations in FROM: tables, joins, derived tables."""

from __future__ import annotations

from dataclasses import replace

from tests.differential.grammar.conditions import Conditions
from tests.differential.grammar.scope import Column, Columns, qualified
from tests.differential.tree import Items, Node, Tree, node, optional
from tests.differential.worlds import view_of

JOINS = [
    *["JOIN"] * 3,
    *["LEFT JOIN"] * 3,
    *["RIGHT JOIN"] * 2,
    *["FULL JOIN"] * 2,
    "LEFT SEMI JOIN",
    "LEFT ANTI JOIN",
    "CROSS JOIN",
]


class Relations(Conditions):
    """Relations in FROM: tables, joins, derived tables."""

    def relation(self, depth: int) -> tuple[Node, Columns]:
        """Any relation that FROM accepts."""
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

    def base(self, filtered: float | None = None) -> tuple[Node, Columns]:
        """A table, filtered with probability `filtered`, or a name that WITH defines."""
        if self.ctes and filtered is None and self.chance(0.5):
            cte, columns = self.rng.choice(self.ctes)
            alias = self.name("t")
            return node("rel", f"{cte} {alias}"), qualified(columns, alias)
        table, alias = self.table(), self.name("t")
        columns = self.columns[table.name]
        scope = qualified(columns, alias)
        if self.chance(0.04):
            return node("rel", f"{view_of(table)} {alias}"), scope
        if not self.chance(0.4 if filtered is None else filtered):
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

    def derived(self, depth: int) -> tuple[Node, Columns]:
        """A query as a table, sometimes only its first rows.

        No statement has both such a table and a correlated scalar subquery: where the subquery
        stands above the table, Spark 4.1.3 removes its ORDER BY and returns any rows.
        """
        query, columns = self.query(depth - 1)
        alias = self.name("q")
        first: Tree | str = ""
        if not self.correlates and self.chance(0.3):
            rows = self.rng.choice([1, 3, 10])
            first = optional(f" ORDER BY ALL {self.rng.choice(['', 'DESC'])} LIMIT {rows}")
        return node("rel", "(", query, first, f") {alias}"), qualified(columns, alias)

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
        """JOIN … USING. The key is that of one side, or of either side in a full join."""
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

    def outer_join(self, depth: int) -> tuple[Node, Columns, Columns]:
        """An outer join of tables, its columns, and the columns that it may fill with NULL."""
        kind = self.rng.choice(["LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        sides = [self.base() if depth < 2 else self.relation(depth - 2) for _ in range(2)]
        few = 0 if kind == "RIGHT JOIN" else 1
        if self.chance(0.85):
            sides[few] = self.base(filtered=0.9)
        (left, left_scope), (right, right_scope) = sides
        condition = Items("", " AND ", (self.pair(left_scope, right_scope),), 1)
        if " JOIN " in str(right):
            right = node("rel", "(", right, ")")
        joined = node("rel", left, f" {kind} ", right, " ON ", condition)
        return joined, (*left_scope, *right_scope), sides[few][1]

    def lateral(self, depth: int) -> tuple[Node, Columns]:
        """A subquery that refers to the columns of the preceding relation."""
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
        """UNPIVOT of two columns of one kind."""
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
