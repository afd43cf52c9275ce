"""The queries of the demonstration. Each returns few rows, so that reading dominates the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Query:
    """`title` names the kind of predicate; `sql` returns the same rows on every run."""

    title: str
    sql: str


def _revenue(where: str, table: str = "lineitem") -> str:
    """Return SQL that reads two columns of every row that satisfies `where`."""
    return f"SELECT count(*), sum(l_extendedprice * l_discount) FROM {table} WHERE {where}"


QUERIES = (
    Query("one day", _revenue("l_shipdate = DATE'1995-03-15'")),
    Query(
        "a month",
        _revenue("l_shipdate >= DATE'1995-03-01' AND l_shipdate < DATE'1995-04-01'"),
    ),
    Query(
        "IN three days",
        _revenue("l_shipdate IN (DATE'1992-05-05', DATE'1995-03-15', DATE'1998-07-07')"),
    ),
    Query("NOT", _revenue("NOT (l_shipdate >= DATE'1992-03-01')")),
    Query(
        "OR over columns",
        _revenue("l_shipdate < DATE'1992-02-01' OR l_receiptdate > DATE'1998-12-20'"),
    ),
    Query("IS NULL", _revenue("l_comment IS NULL")),
    # Directories end at year boundaries, so every kept file fully matches.
    Query(
        "a year, exact",
        _revenue(
            "l_shipdate >= DATE'1995-01-01' AND l_shipdate < DATE'1996-01-01'", "lineitem_by_year"
        ),
    ),
    Query(
        "partition and date",
        _revenue("year = 1995 AND l_shipdate < DATE'1995-02-01'", "lineitem_by_year"),
    ),
    Query(
        "aggregate",
        """
        SELECT l_returnflag, l_linestatus, sum(l_quantity), avg(l_discount), count(*)
        FROM lineitem WHERE l_shipdate >= DATE'1998-06-01' AND l_quantity < 24
        GROUP BY l_returnflag, l_linestatus
        """,
    ),
    Query(
        "join",
        """
        SELECT o_orderpriority, count(*), sum(l_extendedprice)
        FROM orders JOIN lineitem ON o_orderkey = l_orderkey
        WHERE o_orderdate >= DATE'1994-07-01' AND o_orderdate < DATE'1994-08-01'
          AND l_shipdate BETWEEN DATE'1994-07-01' AND DATE'1994-09-30'
        GROUP BY o_orderpriority
        """,
    ),
    Query("year(date)", _revenue("year(l_shipdate) = 1995")),
    Query("not clustered", _revenue("l_quantity = 25 AND l_shipmode = 'MAIL'")),
    Query("cannot prune", _revenue("l_comment LIKE '%special%'")),
)

_OVER_FORMATS: Final = ("a month", "IN three days", "OR over columns", "year(date)")

#: Queries that also run over Iceberg and Delta tables, and one that a filter cannot make cheap.
OVER_FORMATS: Final = (
    *(query for query in QUERIES if query.title in _OVER_FORMATS),
    Query(
        "the last ten dates", "SELECT l_shipdate FROM lineitem ORDER BY l_shipdate DESC LIMIT 10"
    ),
)
