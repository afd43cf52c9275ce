"""The queries of the demonstration. Each gives few rows, so that reading takes the time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Query:
    """`title` says what kind of predicate it shows; `sql` gives the same rows on every run."""

    title: str
    sql: str


def _revenue(where: str, table: str = "lineitem") -> str:
    """SQL that has to read two columns of every row that `where` lets pass."""
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
    Query("year(date)", _revenue("year(l_shipdate) = 1995")),
    Query(
        "date_trunc", _revenue("date_trunc('MONTH', l_shipdate) = TIMESTAMP'1995-03-01 00:00:00'")
    ),
    Query("date arithmetic", _revenue("date_add(l_shipdate, 30) > DATE'1998-12-15'")),
    Query(
        "OR over columns",
        _revenue("l_shipdate < DATE'1992-02-01' OR l_receiptdate > DATE'1998-12-20'"),
    ),
    Query(
        "coalesce",
        _revenue(
            "coalesce(l_shipdate, l_commitdate) BETWEEN DATE'1996-02-01' AND DATE'1996-02-10'"
        ),
    ),
    Query("IS NULL", _revenue("l_comment IS NULL")),
    Query(
        "partition and date",
        _revenue("year = 1995 AND month(l_shipdate) = 3", table="lineitem_by_year"),
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
        WHERE year(o_orderdate) = 1994 AND month(o_orderdate) = 7
          AND l_shipdate BETWEEN DATE'1994-07-01' AND DATE'1994-09-30'
        GROUP BY o_orderpriority
        """,
    ),
    Query("not clustered", _revenue("l_quantity = 25 AND l_shipmode = 'MAIL'")),
    Query("nobody can", _revenue("l_comment LIKE '%special%'")),
)
