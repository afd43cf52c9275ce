"""The grammar of random queries: one method of `Grammar` for each production.

A production returns a tree of SQL (tests.differential.tree), and its columns if it is a relation or
a query. Every name in a statement is unique, so a part keeps its meaning wherever shrinking moves
it. The grammar avoids results that Spark does not define: inner LIMITs sort by all columns, window
functions order by columns that decide the result, and sums are over exact numbers.

`Grammar` inherits from one class for each subject. A subject may use the subjects before it:

    scope         columns in scope and the families of their types
    productions   random draws, new names, the tables
    expressions   constants, functions of columns, aggregate functions
    conditions    predicates and the subqueries in them
    relations     tables, joins, derived tables
    queries       SELECT in its forms
    statements    whole statements: start reading here
"""

from tests.differential.grammar.statements import Grammar, Statement

__all__ = ["Grammar", "Statement"]
