"""Constants, expressions over columns, and aggregate functions."""

from __future__ import annotations

from dataclasses import replace

from tests.differential.grammar.productions import Productions
from tests.differential.grammar.scope import Column, Columns
from tests.differential.tree import Node, Tree, node


class Expressions(Productions):
    """Constants, expressions over columns, and aggregate functions."""

    def some_families(self, scope: Columns, count: int) -> list[str]:
        """Families of columns in scope, keys first."""
        keys = [c for c in scope if c.is_key]
        return [
            self.rng.choice(keys if keys and self.chance(0.5) else scope).family
            for _ in range(count)
        ]

    def expressions(self, scope: Columns, count: int) -> list[tuple[Node, Column]]:
        """Several expressions."""
        return [self.expression(f, scope, 0) for f in self.some_families(scope, count)]

    def expression(self, family: str, scope: Columns, depth: int) -> tuple[Node, Column]:
        """An expression of the family, and a column that describes its values."""
        columns = [c for c in scope if c.family == family]
        if not columns:
            return self.converted(family, scope), Column("", family)
        keys = [c for c in columns if c.is_key]
        column = self.rng.choice(keys if keys and self.chance(0.6) else columns)
        kind = self.rng.random()
        if kind < 0.5:
            return node(family, column.sql), column
        if kind < 0.8:
            return self.nullish(column, scope), column
        if kind < 0.86 and depth > 0:
            return self.scalar(family, scope, depth), replace(column, is_key=False)
        return self.computation(column), replace(column, is_key=column.is_key and family == "int")

    def nullish(self, column: Column, scope: Columns) -> Node:
        """An expression that may turn NULL into a value, or a value into NULL."""
        e, value, other, marker = self.operands(column, scope)
        if self.chance(0.6):
            return self.filled(column, scope)
        parts: tuple[Tree | str, ...] = self.rng.choice(
            [
                (f"coalesce({e}, {other})",),
                (f"greatest({e}, {other})",),
                (f"nullif({e}, ", value, ")"),
                (f"CASE WHEN {e} IS NOT NULL THEN {e} END",),
                (f"if({marker} IS NOT NULL, {other}, ", value, ")"),
            ]
        )
        return Node(column.family, parts, (e,))

    def filled(self, column: Column, scope: Columns) -> Node:
        """An expression that replaces NULL with a constant."""
        e, value, other, marker = self.operands(column, scope)
        parts: tuple[Tree | str, ...] = self.rng.choice(
            [
                (f"coalesce({e}, ", value, ")"),
                (f"coalesce({e}, {other}, ", value, ")"),
                (f"if({e} IS NULL, ", value, f", {e})"),
                (f"nvl2({e}, {e}, ", value, ")"),
                (f"nvl2({marker}, {e}, ", value, ")"),
                (f"CASE WHEN {e} IS NULL THEN ", value, f" ELSE {e} END"),
                (f"CASE WHEN {marker} IS NULL THEN ", value, f" ELSE {e} END"),
                (f"greatest({e}, ", value, ")"),
                (f"least({e}, ", value, ")"),
            ]
        )
        return Node(column.family, parts, (e,))

    def operands(self, column: Column, scope: Columns) -> tuple[str, Node, str, str]:
        """The column, a constant, a column of the same family, any column."""
        value = self.constant(column.family, (column, *scope))
        if column.is_key and self.chance(0.75):  # prefer keys of another relation
            value = self.small_constant(column.family)
        same = [c.sql for c in scope if c.family == column.family]
        other = self.rng.choice(same) if same else column.sql
        return column.sql, value, other, self.rng.choice(scope).sql

    def computation(self, column: Column) -> Node:
        """A function of the column whose result stays in its family."""
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
            columns = [c for c in scope if c.family == source]
            if columns and self.chance(0.8):
                return node(family, f"CAST({self.rng.choice(columns).sql} AS {target})")
        return self.constant(family, scope)

    def constant(self, family: str, scope: Columns) -> Node:
        """A literal of the family, usually a value of one of the columns."""
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
        """A key that some table has, or one outside of the common domain."""
        number = self.rng.choice(
            [-1, 0, *self.rng.choices(self.keys, k=4), self.rng.randint(0, 90)]
        )
        text = {"str": f"'{number}'", "dec": f"{number}BD", "dbl": f"{number}D"}
        return node(family, text.get(family, f"{number}L"))

    def small(self, scope: Columns) -> str:
        """A small integer, so that sums are exact in any order."""
        columns = [c for c in scope if c.family == "int"]
        if not columns:
            return "1"
        column = self.rng.choice([c for c in columns if c.is_key] or columns)
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
        if self.chance(0.2):
            extra = f" FILTER (WHERE {self.condition(scope, 0)})"
        kind = self.rng.random()
        if kind < 0.2:
            return node("int", "count(*)", extra), number
        if kind < 0.35:
            return node("int", "count(", argument, ")", extra), number
        if kind < 0.4:
            return node("int", "count(DISTINCT ", argument, ")", extra), number
        if kind < 0.45:
            deviation = self.rng.choice(["", "", ", 0.2"])
            return node("int", "approx_count_distinct(", argument, f"{deviation})", extra), number
        if kind < 0.6:
            name = self.rng.choice(["sum", "sum", "avg"])
            decimals = [c.sql for c in scope if c.family == "dec"]
            if decimals and self.chance(0.3):  # of a few digits, so that no sum overflows
                summand = f"{self.rng.choice(decimals)} % 1000"
                return node("dec", f"{name}({summand})", extra), replace(number, family="dec")
            family = "int" if name == "sum" else "dbl"
            return node(family, f"{name}({self.small(scope)})", extra), replace(
                number, family=family
            )
        if column.family == "bool":
            return node("bool", "bool_or(", argument, ")", extra), replace(column, sql="")
        return node(
            column.family, f"{self.rng.choice(['min', 'max'])}(", argument, ")", extra
        ), column
