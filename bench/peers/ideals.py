"""The fewest files that a query has to open, determined by reading every row.

Row counts and the least and greatest values of whole files may be known without opening them; the
rows of a file may not. A method with more information, such as how values are combined in the rows
of a file, can open fewer for min and max.
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
        """Return how many. The table is lineitem with a column `file`; tamis has to be off."""


def _rows(spark: SparkSession, sql: str) -> list[Any]:
    return [tuple(row) for row in spark.sql(sql).collect()]


@dataclass(frozen=True, slots=True)
class Nothing(Ideal):
    """Facts about whole files give the answer."""

    def files(self, spark: SparkSession, table: str) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class Holding(Ideal):
    """All files with a row that satisfies this condition, such as having a partner."""

    where: str

    def files(self, spark: SparkSession, table: str) -> int:
        where = self.where.format(t=table)
        sql = f"SELECT count(DISTINCT file) FROM {table} WHERE {where}"
        return int(_rows(spark, sql)[0][0])


@dataclass(frozen=True, slots=True)
class Boundary(Ideal):
    """Files with rows that satisfy this condition and with other rows."""

    where: str

    def files(self, spark: SparkSession, table: str) -> int:
        by_file = f"SELECT count_if({self.where}) AS matching, count(*) AS total FROM {table}"
        sql = f"SELECT count_if(matching > 0 AND matching < total) FROM ({by_file} GROUP BY file)"
        return int(_rows(spark, sql)[0][0])


@dataclass(frozen=True, slots=True)
class Enough(Ideal):
    """The fewest files that together contain this many rows that satisfy the condition."""

    rows: int
    where: str

    def files(self, spark: SparkSession, table: str) -> int:
        sql = f"SELECT count(*) FROM {table} WHERE {self.where} GROUP BY file"
        return _fewest(self.rows, [count for (count,) in _rows(spark, sql)])


@dataclass(frozen=True, slots=True)
class First(Ideal):
    """Files with one of the first rows, and the fewest files that tie for the last places."""

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
        ranked = _rows(spark, sql)
        last = max(place for place, _, _ in ranked)
        before = {file for place, file, _ in ranked if place < last}
        # The rank of the first tied row is one more than the number of rows before it.
        missing = self.rows - (last - 1)
        ties = {file: count for place, file, count in ranked if place == last}
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
