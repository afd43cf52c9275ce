"""The fewest files that a query has to open, found by reading every row.

Row counts, and least and greatest values of whole files, may be known without opening them; which
rows a file holds may not. A method that knows more, such as the values of a file beside each other,
can open fewer for min and max.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Ideal(ABC):
    @abstractmethod
    def files(self, spark: SparkSession, table: str) -> int:
        """How many. The table has a column `file` beside those of lineitem; tamis has to be off."""


def _rows(spark: SparkSession, sql: str) -> list[Any]:
    return [tuple(row) for row in spark.sql(sql).collect()]


@dataclass(frozen=True, slots=True)
class Nothing(Ideal):
    """What is known of whole files is the answer."""

    def files(self, spark: SparkSession, table: str) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class Holding(Ideal):
    """All files that hold a row of which this is true: one that counts, has a partner."""

    where: str

    def files(self, spark: SparkSession, table: str) -> int:
        where = self.where.format(t=table)
        sql = f"SELECT count(DISTINCT file) FROM {table} WHERE {where}"
        return int(_rows(spark, sql)[0][0])


@dataclass(frozen=True, slots=True)
class Boundary(Ideal):
    """Files that hold rows of which this is true, and other rows."""

    where: str

    def files(self, spark: SparkSession, table: str) -> int:
        by_file = f"SELECT count_if({self.where}) AS matching, count(*) AS total FROM {table}"
        sql = f"SELECT count_if(matching > 0 AND matching < total) FROM ({by_file} GROUP BY file)"
        return int(_rows(spark, sql)[0][0])


@dataclass(frozen=True, slots=True)
class Enough(Ideal):
    """The fewest files that hold so many of the rows of which this is true."""

    rows: int
    where: str

    def files(self, spark: SparkSession, table: str) -> int:
        sql = f"SELECT count(*) FROM {table} WHERE {self.where} GROUP BY file"
        return _fewest(self.rows, [count for (count,) in _rows(spark, sql)])


@dataclass(frozen=True, slots=True)
class First(Ideal):
    """Files with one of the first rows, and of those that tie for the last places the fewest."""

    rows: int
    order: str
    where: str

    def files(self, spark: SparkSession, table: str) -> int:
        placed = (
            f"SELECT file, rank() OVER (ORDER BY {self.order}) AS place "
            f"FROM {table} WHERE {self.where}"
        )
        sql = (
            f"SELECT place, file, count(*) FROM ({placed}) WHERE place <= {self.rows} GROUP BY ALL"
        )
        found = _rows(spark, sql)
        last = max(place for place, _, _ in found)
        before = {file for place, file, _ in found if place < last}
        # the place of the first that ties is one more than how many come before
        missing = self.rows - (last - 1)
        ties = {file: count for place, file, count in found if place == last}
        missing -= sum(count for file, count in ties.items() if file in before)
        others = [count for file, count in ties.items() if file not in before]
        return len(before) + _fewest(missing, others)


def _fewest(rows: int, counts: list[int]) -> int:
    taken = 0
    for count in sorted(counts, reverse=True):
        if rows <= 0:
            break
        rows -= count
        taken += 1
    return taken
