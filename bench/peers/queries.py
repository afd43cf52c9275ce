"""Queries by layout that choose files by more than a filter, each with its ideal.

`{t}` is lineitem in the layout. There are also `orders`, clustered by o_orderdate, and `calendar`,
one file with one row per day; both are plain Parquet for all systems.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from bench.peers.ideals import Boundary, Enough, First, Holding, Ideal, Nothing

_SHUFFLED: Final = {"spark.sql.autoBroadcastJoinThreshold": "-1"}


@dataclass(frozen=True, slots=True)
class Query:
    """`any_rows`: the answer may differ between runs, as with LIMIT without ORDER BY."""

    sql: str
    ideal: Ideal
    confs: dict[str, str] = field(default_factory=dict)

    @property
    def any_rows(self) -> bool:
        return isinstance(self.ideal, Enough)

    @property
    def text(self) -> str:
        shuffled = " (shuffled)" if self.confs == _SHUFFLED else ""
        return self.sql.format(t="t") + shuffled


def _limit(where: str, rows: int = 10) -> Query:
    return Query(f"SELECT * FROM {{t}}{_where(where)} LIMIT {rows}", Enough(rows, where))


def _where(condition: str) -> str:
    return "" if condition == "true" else f" WHERE {condition}"


def _first(order: str, where: str = "true", rows: int = 10) -> Query:
    # Only the sort keys: the other columns of rows with equal keys are arbitrary.
    columns = order.replace(" DESC", "")
    return Query(
        f"SELECT {columns} FROM {{t}}{_where(where)} ORDER BY {order} LIMIT {rows}",
        First(rows, order, where),
    )


def _both(sql: str, holds: str) -> tuple[Query, Query]:
    """Return the query with Spark's choice of joins, which broadcasts small sides, and shuffled."""
    return Query(sql, Holding(holds)), Query(sql, Holding(holds), _SHUFFLED)


def _aggregate(functions: str, where: str) -> Query:
    return Query(f"SELECT {functions} FROM {{t}} WHERE {where}", Boundary(where))


def _plain(sql: str, ideal: Ideal) -> Query:
    return Query(sql, ideal)


_MONTH: Final = "l_shipdate BETWEEN DATE'1995-03-01' AND DATE'1995-03-31'"
_KEYS: Final = "l_orderkey BETWEEN 3000000 AND 3400000"
_SUM: Final = "SELECT count(*), sum(l_quantity)"

BY_DATE: Final = (
    _limit("true"),
    _limit(_MONTH),
    _limit(f"{_MONTH} AND l_quantity > 20"),
    _limit("year(l_shipdate) = 1995 AND l_comment LIKE '%special%'"),
    _limit(_MONTH, 40_000),
    _first("l_shipdate DESC"),
    _first("l_shipdate"),
    _first("l_shipdate DESC", _MONTH),
    _first("l_shipdate DESC", "l_shipmode = 'MAIL'"),
    _first("l_shipdate DESC, l_orderkey"),
    _first("l_shipdate, l_orderkey, l_linenumber", _MONTH, 100),
    _first("l_orderkey"),
    *_both(
        f"{_SUM} FROM {{t}} JOIN calendar ON l_shipdate = day "
        "WHERE day BETWEEN DATE'1995-03-01' AND DATE'1995-03-31'",
        _MONTH,
    ),
    *_both(
        f"{_SUM} FROM {{t}} JOIN calendar ON l_shipdate = day WHERE quarter = '1995-Q1'",
        "l_shipdate BETWEEN DATE'1995-01-01' AND DATE'1995-03-31'",
    ),
    *_both(
        f"{_SUM} FROM {{t}} WHERE l_shipdate IN (SELECT day FROM calendar WHERE holiday)",
        "l_shipdate IN (SELECT day FROM calendar WHERE holiday)",
    ),
    _plain(
        f"{_SUM} FROM {{t}} WHERE EXISTS (SELECT 1 FROM calendar WHERE holiday "
        "AND day = l_shipdate)",
        Holding("l_shipdate IN (SELECT day FROM calendar WHERE holiday)"),
    ),
    _plain(
        f"{_SUM} FROM {{t}} WHERE l_shipdate = (SELECT max(l_shipdate) FROM {{t}})",
        Holding("l_shipdate = (SELECT max(l_shipdate) FROM {t})"),
    ),
    _plain(
        f"{_SUM} FROM {{t}} WHERE l_shipdate > (SELECT max(day) FROM calendar WHERE holiday "
        "AND quarter < '1998')",
        Holding("l_shipdate > (SELECT max(day) FROM calendar WHERE holiday AND quarter < '1998')"),
    ),
    _plain("SELECT count(*) FROM {t}", Nothing()),
    _plain("SELECT min(l_shipdate), max(l_shipdate) FROM {t}", Nothing()),
    _plain("SELECT min(l_quantity), max(l_orderkey), count(l_tax) FROM {t}", Nothing()),
    _aggregate("count(*)", _MONTH),
    _aggregate("count(*)", "year(l_shipdate) = 1995"),
    _aggregate("min(l_shipdate), max(l_shipdate)", _MONTH),
    _aggregate("min(l_extendedprice), max(l_orderkey)", _MONTH),
)

BY_KEY: Final = (
    _limit(_KEYS),
    _limit(f"{_KEYS} AND l_returnflag = 'R'"),
    _first("l_orderkey DESC"),
    _first("l_orderkey, l_linenumber", _KEYS),
    _first("l_orderkey DESC", "l_shipdate < DATE'1993-01-01'"),
    *_both(
        f"{_SUM} FROM {{t}} JOIN orders ON l_orderkey = o_orderkey "
        "WHERE o_orderkey BETWEEN 3000000 AND 3100000",
        "l_orderkey BETWEEN 3000000 AND 3100000",
    ),
    *_both(
        f"{_SUM} FROM {{t}} JOIN orders ON l_orderkey = o_orderkey WHERE o_totalprice > 520000",
        "l_orderkey IN (SELECT o_orderkey FROM orders WHERE o_totalprice > 520000)",
    ),
    *_both(
        f"{_SUM} FROM {{t}} JOIN orders ON l_orderkey = o_orderkey "
        "WHERE o_orderdate = DATE'1995-03-15' AND o_totalprice > 350000",
        "l_orderkey IN (SELECT o_orderkey FROM orders "
        "WHERE o_orderdate = DATE'1995-03-15' AND o_totalprice > 350000)",
    ),
    *_both(
        f"{_SUM} FROM {{t}} WHERE l_orderkey IN "
        "(SELECT o_orderkey FROM orders WHERE o_totalprice > 520000)",
        "l_orderkey IN (SELECT o_orderkey FROM orders WHERE o_totalprice > 520000)",
    ),
    _plain(
        f"{_SUM} FROM {{t}} WHERE l_orderkey = (SELECT max(o_orderkey) FROM orders)",
        Holding("l_orderkey = (SELECT max(o_orderkey) FROM orders)"),
    ),
    _aggregate("count(*)", _KEYS),
    _aggregate("min(l_shipdate), max(l_orderkey)", _KEYS),
)

BY_MODE: Final = (
    _limit("l_shipmode = 'MAIL'"),
    _limit("upper(l_shipmode) = 'MAIL' AND l_quantity > 20"),
    _first("l_shipmode DESC"),
    _first("l_shipmode, l_comment"),
    *_both(
        f"{_SUM} FROM {{t}} JOIN (VALUES ('MAIL', 1), ('NONE', 2)) AS m (mode, n) "
        "ON l_shipmode = mode",
        "l_shipmode = 'MAIL'",
    ),
    _aggregate("count(*)", "l_shipmode = 'MAIL'"),
    _plain("SELECT min(l_shipmode), max(l_shipmode) FROM {t}", Nothing()),
)

BY_YEAR: Final = (
    _limit("year = 1995"),
    _limit("l_shipdate >= DATE'1995-06-01' AND l_quantity > 20"),
    _first("l_shipdate DESC"),
    _first("year DESC, l_shipdate"),
    *_both(
        f"{_SUM} FROM {{t}} JOIN (SELECT DISTINCT year(day) AS y FROM calendar "
        "WHERE quarter = '1995-Q1') ON year = y",
        "year = 1995",
    ),
    *_both(
        f"{_SUM} FROM {{t}} JOIN calendar ON l_shipdate = day WHERE quarter = '1995-Q1'",
        "l_shipdate BETWEEN DATE'1995-01-01' AND DATE'1995-03-31'",
    ),
    _plain(
        f"{_SUM} FROM {{t}} WHERE year = (SELECT max(year) FROM {{t}})",
        Holding("year = (SELECT max(year) FROM {t})"),
    ),
    _plain("SELECT count(*) FROM {t}", Nothing()),
    _plain("SELECT year, count(*) FROM {t} GROUP BY year", Nothing()),
    _plain("SELECT year, min(l_shipdate), max(l_orderkey) FROM {t} GROUP BY year", Nothing()),
    Query(
        "SELECT year, count(*) FROM {t} WHERE l_shipdate >= DATE'1995-06-15' GROUP BY year",
        Boundary("l_shipdate >= DATE'1995-06-15'"),
    ),
)
