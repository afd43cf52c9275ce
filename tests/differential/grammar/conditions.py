"""Predicates, join conditions, and the subqueries in them."""

from __future__ import annotations

from tests.differential.grammar.expressions import Expressions
from tests.differential.grammar.scope import Columns, kin_of
from tests.differential.random_predicates import conjunction, edge_predicate, predicate
from tests.differential.random_tables import RandomTable
from tests.differential.tree import Items, Node, Tree, node
from tests.differential.worlds import COMPARED, CONDITIONS, EXPRESSIONS

#: Predicates over a value that no rule of tamis covers, by the family of the value.
COMPUTED = {
    "str": [
        "soundex({0}) LIKE '%0'",
        "{0} RLIKE '[a-c].*[0-9]'",
        "{0} LIKE '%a%'",
        "regexp_extract({0}, '([a-z])$', 1) = 'a'",
        "md5({0}) < '7'",
        "get_json_object({0}, '$.a') IS NULL",
        "levenshtein({0}, 'abc') < 3",
        "CAST({0} AS INT) > 3",
        "reverse({0}) < reverse(upper({0}))",
    ],
    "int": [
        "hash({0}) % 3 = 0",
        "bin({0}) LIKE '%01'",
        "md5(CAST({0} AS STRING)) < '7'",
        "1000 / {0} > 3",
        "CAST({0} AS TINYINT) > 3",
        "sha2(CAST({0} AS STRING), 256) RLIKE '^[0-7]' OR {0} = 3",
    ],
    "dbl": [
        "CAST({0} AS STRING) LIKE '%5'",
        "CAST({0} AS STRING) LIKE '-%'",
        "xxhash64({0}) % 3 = 0",
        "format_number({0}, 2) LIKE '%.00'",
        "isnan({0}) OR hash({0}) % 2 = 0",
    ],
    "dec": ["CAST({0} AS STRING) LIKE '%5'", "hash({0}) % 3 = 0"],
    "bin": ["hex({0}) LIKE '%6%'", "crc32({0}) % 3 = 0", "base64({0}) RLIKE '[a-f]'"],
    "date": ["hash({0}) % 3 = 0", "date_format({0}, 'E') = 'Mon'", "md5(CAST({0} AS STRING)) < '7'"],
    "ts": ["hash({0}) % 3 = 0", "date_format({0}, 'E HH') < 'Mon 12'", "CAST({0} AS STRING) LIKE '%1'"],
    "ntz": ["hash({0}) % 3 = 0", "CAST({0} AS STRING) LIKE '%1'"],
    "bool": ["hash({0}) % 2 = 0", "CAST({0} AS STRING) LIKE 't%'", "md5(CAST({0} AS STRING)) < '7'"],
}  # fmt: skip

COMPARISONS = ["=", "<>", "<", "<=", ">", ">=", "<", ">=", "<=>"]


class Conditions(Expressions):
    """Predicates, join conditions, and the subqueries in them."""

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
            (3, lambda: self.guarded(scope)),
            (10, lambda: self.evaluable(scope)),
            (4, lambda: node("pred", "NOT (", self.condition(scope, 0), ")")),
            (8, lambda: node("pred", "(", self.condition(scope, 0), " OR ", self.condition(scope, depth), ")")),
            (4, lambda: node("pred", "(", self.condition(scope, 0), " AND ", self.condition(scope, 0), ")")),
            (2 * weight, lambda: self.in_subquery(scope, depth)),
            (2 * weight, lambda: self.exists(scope, depth)),
            (2 * weight, lambda: self.against_scalar(scope, depth)),
        )  # fmt: skip

    def comparison(self, scope: Columns) -> Node:
        """A column, or an expression over it, compared with a constant or another column."""
        column = self.rng.choice(scope)
        left = self.nullish(column, scope) if self.chance(0.3) else node(column.family, column.sql)
        others = [c for c in scope if c.family in kin_of(column.family) and c is not column]
        if others and self.chance(0.2):
            other = self.rng.choice(others)
            right = node(other.family, other.sql)
            if column.family == other.family == "int" and self.chance(0.3):
                by = self.rng.choice([-3, 1, 5])
                right = node("int", f"try_add({other.sql}, {by})")
        else:
            right = self.constant(column.family, (column,))
        return node("pred", left, f" {self.rng.choice(COMPARISONS)} ", right)

    def null_test(self, scope: Columns) -> Node:
        """IS NULL or IS NOT NULL."""
        return node("pred", f"{self.rng.choice(scope).sql} IS {self.rng.choice(['', 'NOT '])}NULL")

    def membership(self, scope: Columns) -> Node:
        """[NOT] IN with a list."""
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

    def guarded(self, scope: Columns) -> Node:
        """A cast that may fail, behind the condition that prevents it."""
        texts = [c.sql for c in scope if c.family == "str"]
        if not texts:
            return self.between(scope)
        text = self.rng.choice(texts)
        operator, number = self.rng.choice(COMPARISONS), self.rng.choice([-1, 0, 7, 20])
        return node(
            "pred", f"{text} RLIKE '^-?[0-9]{{1,4}}$' AND CAST({text} AS INT) {operator} {number}"
        )

    def evaluable(self, scope: Columns) -> Node:
        """Functions of a column that tamis does not know, alone or with a range of the column."""
        column = self.rng.choice(scope)
        made = self.rng.choice(COMPUTED[column.family]).format(column.sql)
        if self.chance(0.2):
            return node("pred", f"NOT ({made})")
        if self.chance(0.3):
            other = self.rng.choice(COMPUTED[column.family]).format(column.sql)
            return node("pred", f"({made}) {self.rng.choice(['AND', 'OR'])} ({other})")
        return node("pred", f"({made})")

    def pair(self, left: Columns, right: Columns) -> Node:
        """A key of one side that equals a key of the other side."""
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
        """A column compared with the value of a subquery."""
        column = self.rng.choice(scope)
        value = self.scalar(column.family, scope, depth)
        return node("pred", f"{column.sql} {self.rng.choice(COMPARISONS)} ", value)

    def base_filter(self, table: RandomTable) -> Node:
        """A predicate directly over a table, whose columns have no alias."""
        if self.chance(0.25):
            return self.noted(table, self.rare(table))
        if self.chance(0.65):
            low = self.rng.randint(-1, max(table.rows, 1))
            high = low + self.rng.choice([3, 3, 10, 20, 40])
            return self.noted(table, node("pred", self.rng.choice(
                [f"_row >= {low}", f"_row < {high}", f"_row BETWEEN {low} AND {high}",
                 f"_row + 1 BETWEEN {low} AND {high}", f"_row IN ({low}, {high})"])))  # fmt: skip
        return self.raw(table)

    def rare(self, table: RandomTable) -> Node:
        """A predicate that statistics do not decide, true of few rows: what scans learn."""
        values = self.rng.choice(["_row", f"_row, {self.rng.choice(self.columns[table.name]).sql}"])
        share = self.rng.choice([5, 11, 23])
        return node("pred", f"abs(hash({values})) % {share} = {self.rng.randrange(5)}")

    def raw(self, table: RandomTable) -> Node:
        """A predicate of tests.differential.random_predicates."""
        text = self.rng.choice([predicate, predicate, conjunction])(self.rng, table)
        if self.chance(0.5):
            text = edge_predicate(self.rng, table)
        elif self.chance(0.15):
            texts = [t.format(leaf.sql) for leaf in table.leaves
                     for t in EXPRESSIONS.get(leaf.kind.sql, [])]  # fmt: skip
            if texts:
                text = self.computed(self.rng.choice(texts), table)
        elif self.chance(0.15):
            recorded = [t.format(leaf.sql) for leaf in table.leaves
                        for kinds in (CONDITIONS, COMPARED)
                        for t in kinds.get(leaf.kind.sql, [])]  # fmt: skip
            if recorded:
                text = self.rng.choice(recorded)
                if self.chance(0.6):
                    text += f" AND {predicate(self.rng, table)}"
        return self.noted(table, node("pred", f"({text})"))

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

    def scalar(self, family: str, scope: Columns, depth: int) -> Node:
        """(SELECT max(…) FROM …), sometimes correlated."""
        source, inner = self.base() if depth < 2 else self.relation(depth - 1)
        partners = [c for c in inner if c.family == family and c.family != "bool"]
        if not partners:
            return self.constant(family, scope)
        partner = self.rng.choice(partners)
        argument = self.nullish(partner, inner) if self.chance(0.2) else node(family, partner.sql)
        conditions: list[Tree] = [self.condition(inner, 0)] if self.chance(0.5) else []
        if self.correlates and self.chance(0.6):
            conditions.append(self.pair(inner, scope))
        call = self.rng.choice(["min", "max", "max"])
        return node(family, f"(SELECT {call}(", argument, ") FROM ", source,
                    Items(" WHERE ", " AND ", tuple(conditions)), ")")  # fmt: skip
