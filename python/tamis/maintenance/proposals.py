"""The row statistics that would have let the scans of the history skip files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from tamis.expr.nodes import Call, Compare, Comparison, In, Literal, Opaque, columns_of
from tamis.expr.sql import to_sql
from tamis.indexing.build.table_reader import TableReader
from tamis.report.quality import (
    Cause,
    Scan,
    Solved,
    Suspect,
    has_few_matches,
    lost_bytes,
    lost_files,
    recordable,
)

__all__ = ["Proposal", "proposals"]

#: The most predicates that Spark parses.
_MOST_PARSED: Final = 1000
_EQUALITIES: Final = (Comparison.EQUAL, Comparison.NULL_SAFE_EQUAL)

#: The kind, the name, the key of an expression, and the columns of a proposal.
_Key: TypeAlias = tuple[str, str, str | None, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Statistics to record, and what scans of the history lost without them.

    Attributes:
        kind: "bloom" or "values".
        name: The column, with dots, or the SQL of the expression.
        key: The key of the expression; None for a column.
        columns: The columns whose values are read.
        scans: The number of scans that would have used them.
        lost_bytes: What these scans read needlessly, at most.
        lost_files: The files that they opened needlessly, at most.
    """

    kind: str
    name: str
    key: str | None
    columns: tuple[str, ...]
    scans: int
    lost_bytes: int
    lost_files: int

    @property
    def is_expression(self) -> bool:
        return self.key is not None

    @property
    def identity(self) -> str:
        """What the proposals of the same statistics have in common."""
        return self.key or self.name


def proposals(scans: Iterable[Scan], table: TableReader) -> list[Proposal]:
    """Return what to record of a table, in descending order of what scans lost without it.

    A scan counts if it kept nearly all files for few matching rows, and if the statistics are
    certain or likely to rule out half of the files: see `tamis.report.quality`.

    Args:
        scans: The scans of the table, oldest first.
        table: The table.
    """
    scans = list(scans)
    solved = Solved(scans)
    expressions = _Expressions(table)
    totals: dict[_Key, list[tuple[int, int]]] = {}
    for scan in scans:
        loss, files = lost_bytes(scan), lost_files(scan)
        keys = [_key(each, scan, expressions) for each in solved.others(scan)]
        for key in dict.fromkeys(key for key in keys if key is not None):
            totals.setdefault(key, []).append((loss or 0, files or 0))
    found = [
        Proposal(*key, len(losses), sum(loss for loss, _ in losses), sum(f for _, f in losses))
        for key, losses in totals.items()
    ]
    return sorted(found, key=lambda each: (-each.lost_bytes, -each.lost_files, each.name))


def _key(suspect: Suspect, scan: Scan, expressions: _Expressions) -> _Key | None:
    """Return what would have helped a scan; None if nothing of that kind would."""
    conjunct = suspect.conjunct
    columns = conjunct["columns"] or []
    if suspect.cause not in (Cause.COARSE, Cause.OPAQUE) or not has_few_matches(scan):
        return None
    kind = recordable(conjunct, scan)
    if suspect.cause is Cause.COARSE and kind is not None and columns:
        return kind, columns[0], None, (columns[0],)
    return expressions.key_of(conjunct["sql"])


class _Expressions:
    """The expressions that predicates compare with constants, by the SQL of the predicate."""

    def __init__(self, table: TableReader) -> None:
        self._table = table
        self._keys: dict[str, _Key | None] = {}

    def key_of(self, sql: str) -> _Key | None:
        """Return a Bloom filter of the expression of `=`, `<=>` or IN.

        With few matching rows, a Bloom filter rules out half of the files, whatever the expression.
        """
        if sql not in self._keys and len(self._keys) < _MOST_PARSED:
            self._keys[sql] = self._parsed(sql)
        return self._keys.get(sql)

    def _parsed(self, sql: str) -> _Key | None:
        match self._table.parse(sql):
            case Compare(op=op, left=left, right=right) if op in _EQUALITIES:
                compared = right if isinstance(left, Literal) else left
                others = {type(left), type(right)} - {type(compared)}
                if others != {Literal}:
                    return None
            case In(value=compared):
                pass
            case _:
                return None
        if not isinstance(compared, Call | Opaque) or compared.key is None:
            return None
        text = to_sql(compared)
        # The index records what this SQL means to Spark, which must be the compared expression.
        if self._table.expression_key(text) != compared.key:
            return None
        columns = dict.fromkeys(".".join(path) for path in columns_of(compared))
        return "bloom", text, compared.key, tuple(columns)
