"""Shrinks a difference: removes clauses, joins, columns, conjuncts, settings, steps, files and rows
while the answers still differ in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tests.differential.answers import Difference, Tally, compare
from tests.differential.grammar import Statement
from tests.differential.tree import smaller
from tests.differential.worlds import Put, Step, World

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


Thing = TypeVar("Thing")


@dataclass
class Shrinker:
    """Shrinks one difference after the other in a session.

    Attributes:
        folder: Where tables are created again.
        seconds: Time limit for one difference.
    """

    spark: SparkSession
    folder: Path
    seconds: float = 90

    def shrink(
        self, world: World, statement: Statement, difference: Difference
    ) -> tuple[World, Statement, Difference]:
        """Return the smallest world and statement that still show this kind of difference."""
        self.deadline = time.monotonic() + self.seconds
        again = self._in_new_world(world, statement, difference)
        if again is None:
            return world, statement, difference
        statement = self._statement(statement, difference, self.seconds / 2)
        world = self._world(world, statement, difference)
        world.set_up(self.spark, self.folder)
        statement = self._statement(statement, difference, self.seconds)
        last = compare(self.spark, statement, Tally())
        return world, statement, last or difference

    def _differs(self, statement: Statement, difference: Difference) -> Difference | None:
        again = compare(self.spark, statement, Tally())
        return again if again is not None and again.kind == difference.kind else None

    def _in_new_world(
        self, world: World, statement: Statement, difference: Difference
    ) -> Difference | None:
        try:
            world.set_up(self.spark, self.folder)
        except Exception:  # a step that depends on a removed one
            return None
        return self._differs(statement, difference)

    def _statement(self, statement: Statement, difference: Difference, seconds: float) -> Statement:
        stop = min(self.deadline, time.monotonic() + seconds)
        return _descend(
            statement,
            _smaller_statements,
            lambda each: self._differs(each, difference) is not None,
            stop,
        )

    def _world(self, world: World, statement: Statement, difference: Difference) -> World:
        return _descend(
            world,
            lambda each: _smaller_worlds(each, statement),
            lambda each: self._in_new_world(each, statement, difference) is not None,
            self.deadline,
        )


def _descend(
    start: Thing,
    reductions: Callable[[Thing], Iterator[Thing]],
    holds: Callable[[Thing], bool],
    deadline: float,
) -> Thing:
    """Repeatedly take the first reduction that keeps the difference, until the deadline."""
    current, tried = start, {str(start)}
    progress = True
    while progress:
        progress = False
        for each in reductions(current):
            if time.monotonic() > deadline:
                return current
            if str(each) in tried:
                continue
            tried.add(str(each))
            if holds(each):
                current, progress = each, True
                break
    return current


def _smaller_statements(statement: Statement) -> Iterator[Statement]:
    for items in _fewer(statement.tail.items):
        yield replace(statement, tail=replace(statement.tail, items=items))
    for items in _fewer(statement.order.items):
        yield replace(statement, order=replace(statement.order, items=items))
    for query in smaller(statement.query):
        yield replace(statement, query=query)


def _smaller_worlds(world: World, statement: Statement) -> Iterator[World]:
    used = [table for table in world.tables if table.name in statement.sql]
    if len(used) < len(world.tables):
        names = {table.name for table in used}
        steps = tuple(step for step in world.steps if step.table in names)
        yield replace(world, tables=tuple(used), steps=steps)
    for settings in _fewer(world.settings):
        yield replace(world, settings=settings)
    removable = [step for step in world.steps if not step.needed or isinstance(step, Put)]
    for kept in _fewer(tuple(removable)):
        yield replace(world, steps=tuple(s for s in world.steps if s in kept or s not in removable))
    yield from _without_columns(world, statement)
    for place, step in enumerate(world.steps):
        if isinstance(step, Put):
            for smaller_step in _fewer_rows(step):
                steps = (*world.steps[:place], smaller_step, *world.steps[place + 1 :])
                yield replace(world, steps=steps)


def _fewer(items: tuple[Thing, ...]) -> Iterator[tuple[Thing, ...]]:
    """Yield nothing, either half, and all but one."""
    if items:
        yield ()
    if len(items) > 3:
        half = len(items) // 2
        yield items[:half]
        yield items[half:]
    if len(items) > 1:
        for place in range(len(items)):
            yield items[:place] + items[place + 1 :]


def _fewer_rows(step: Put) -> Iterator[Put]:
    data = step.file.data
    half = data.num_rows // 2
    if half:
        for part in (data.slice(0, half), data.slice(half)):
            yield replace(step, file=replace(step.file, data=part))
    if data.num_rows == 1:
        yield replace(step, file=replace(step.file, data=data.slice(0, 0)))


def _without_columns(world: World, statement: Statement) -> Iterator[World]:
    for table in world.tables:
        for column in table.columns:
            name = column[0].strip("`")
            if column[0] in statement.sql or column[0] == "part":
                continue
            columns = tuple(each for each in table.columns if each is not column)
            changed = replace(table, columns=columns)
            steps = tuple(_without_column(s, table.ddl, changed.ddl, name)
                          if s.table == table.name else s for s in world.steps)  # fmt: skip
            tables = tuple(changed if each is table else each for each in world.tables)
            yield replace(world, tables=tables, steps=steps)


def _without_column(step: Step, ddl: str, changed: str, name: str) -> Step:
    if isinstance(step, Put):
        data = step.file.data
        if name in data.column_names:
            return replace(step, file=replace(step.file, data=data.drop_columns([name])))
        return step
    return replace(step, code=step.code.replace(ddl, changed))
