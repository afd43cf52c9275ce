"""`tamis.maintain(spark, table)`: brings an index up to date, and adds what past queries lacked."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.indexing.build.listing import cache_location, conf_of, shim_of
from tamis.indexing.format.row_sql import FLOATING
from tamis.indexing.handle import Index
from tamis.indexing.read.automatic_location import maintained_location
from tamis.indexing.state import State
from tamis.maintenance.proposals import Proposal, proposals
from tamis.maintenance.steps import Maintenance, Step
from tamis.scan_history import history as read_history

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.readwriter import DataFrameReader

__all__ = ["maintain", "maintain_index", "past_scans", "placed", "planned", "run"]

_HISTORY: Final = "spark.tamis.history.location"
_INT96: Final = "INT96"
#: Only the latest scans of a table up to this number are considered.
_MOST_SCANS: Final = 10_000

Sizes = Mapping[tuple[str, str], int]


def maintain(
    spark: SparkSession,
    path_or_table: str | os.PathLike[str],
    *,
    dry_run: bool = False,
    history: str | os.PathLike[str] | None = None,
    reader: DataFrameReader | None = None,
) -> Maintenance:
    """Bring the index of a table up to date, and record the statistics that past queries lacked.

    1. Build the index if the table has none or if it is damaged. Otherwise, refresh it.
    2. Find the predicates in the history that matched few rows but skipped few files. Record the
       Bloom filters or value lists that would help them, if the scans lost more than it costs to
       read the columns once: see docs/statistics_index.md.

    If a Parquet table has no index, and none can be written where it belongs, for example because
    the directory of the table is read-only, the index is written to the cache directory of this
    user, for the drivers of this user on this machine.

    Nothing is recorded twice. You can run it again at any time: if there is nothing to do, it only
    lists the table and reads the history.

    Args:
        spark: The session.
        path_or_table: As for `tamis.index`.
        dry_run: Only return the steps, with estimates of their costs and savings.
        history: The directory of the history. Default: that of the session, or of this user.
        reader: As for `tamis.index`.

    Raises:
        StatisticsIndexError: The table cannot be listed or read, or the index cannot be written.

    Example:
        print(tamis.maintain(spark, "sales", dry_run=True))
    """
    return maintain_index(Index(spark, path_or_table, reader), dry_run=dry_run, history=history)


def maintain_index(
    index: Index, *, dry_run: bool = False, history: str | os.PathLike[str] | None = None
) -> Maintenance:
    """Maintain an index: see `maintain`."""
    index, state = placed(index)
    plan = planned(index, state, past_scans(index.spark, history))
    if dry_run or not plan.worthwhile:
        return plan
    started = time.perf_counter()
    state.require_writable()
    run(index, state, plan.worthwhile)
    return replace(plan, seconds=time.perf_counter() - started)


def placed(index: Index) -> tuple[Index, State]:
    """Return the index where it is or can be written, and its state.

    That is where it belongs, or in the cache directory.

    Raises:
        StatisticsIndexError: The table cannot be listed.
    """
    state = index.state()
    if index.needs_another_place(state):
        location = maintained_location(cache_location(index.spark))
        if location is not None:
            index = index.at(location)
            state = index.state()
    return index, state


def planned(index: Index, state: State, scans: pa.Table) -> Maintenance:
    """Return what maintenance of an index does.

    Args:
        index: The index.
        state: Its state.
        scans: The history.
    """
    steps = _steps(state, scans)
    return Maintenance(index.target, steps, location=index.directory)


def run(index: Index, state: State, steps: Sequence[Step], fill_gaps: bool = True) -> None:
    """Run steps of maintenance.

    Args:
        index: The index.
        state: Its state before these steps.
        steps: The step that builds or refreshes, if any, comes first.
        fill_gaps: Whether a new index gets bounds from rows where footers do not suffice.

    Raises:
        StatisticsIndexError: The table cannot be listed or read, or the index cannot be written.
    """
    columns: dict[str, list[str]] = {}
    expressions: dict[str, list[str]] = {}
    for step in steps:
        if step.kind is not None:
            wanted = expressions if step.is_expression else columns
            wanted.setdefault(str(step.name), []).append(step.kind)
    if steps[0].action != "record":
        # refresh() also restores what a deleted or damaged index recorded
        index.refresh() if state.is_known else index.build(fill_gaps=fill_gaps)
    if columns or expressions:
        index.add(columns=columns, expressions=expressions)


def _steps(state: State, scans: pa.Table) -> tuple[Step, ...]:
    """Return what maintenance of an index does.

    Args:
        state: The table and its index.
        scans: The history.
    """
    root, files = state.table.listing.root, len(state.table.listing.snapshot.files)
    is_of_table = [roots == [root] for roots in scans["roots"].to_pylist()]
    of_table = scans.filter(pa.array(is_of_table, pa.bool_()))
    recent = of_table.slice(max(0, len(of_table) - _MOST_SCANS)).to_pylist()
    known = _recorded(state)
    lacking = [
        each for each in proposals(recent, state.table) if (each.kind, each.identity) not in known
    ]
    if not lacking and _is_up_to_date(state):
        return ()  # without a job that reads footers
    sizes: Sizes = {}
    if state.table.listing.row_reading is None:
        sizes = state.table.column_bytes(np.arange(files))
    whole = pc.sum(state.table.listing.snapshot.files.size).as_py() or 0
    steps = [] if _is_up_to_date(state) else [_step_of_files(state, sizes, whole)]
    for each in lacking:
        steps.append(_step_of(each, files, _bytes_of(each.columns, sizes, whole, _fold(state))))
    return tuple(steps)


def _is_up_to_date(state: State) -> bool:
    return state.is_current and state.staleness is not None and not state.staleness.is_stale


def past_scans(spark: SparkSession, history: str | os.PathLike[str] | None) -> pa.Table:
    """Return the history, including the scans of all queries that have ended."""
    shim = shim_of(spark)
    if shim is not None:
        shim.flushHistory(spark._jsparkSession)
    return read_history(history or conf_of(spark, _HISTORY))


def _step_of_files(state: State, sizes: Sizes, whole: int) -> Step:
    """Return the step that brings the index up to date."""
    files = state.table.listing.snapshot.files
    leaves, fold = state.table.leaves, _fold(state)
    read = whole
    if state.table.listing.row_reading is None:
        floating = {fold(leaf.name) for leaf in leaves if leaf.type in FLOATING}
        read = sum(
            number
            for (name, kind), number in sizes.items()
            if fold(name) in floating or kind == _INT96
        )
        for entry in () if state.held is None else state.held.entries:
            if not entry.fills_gap:  # is recorded of these files too
                columns = None if entry.path is None else [".".join(entry.path)]
                read += _bytes_of(columns, sizes, whole, fold)
    found = state.staleness
    if found is None or not state.is_current:
        return Step("build", len(files), read, added=len(files))
    new = found.added + found.changed
    return Step(
        "refresh",
        new,
        round(read * new / max(1, len(files))),
        added=found.added,
        changed=found.changed,
        gone=found.gone,
    )


def _fold(state: State) -> Callable[[str], str]:
    """Return how names of columns are compared."""
    return str if state.table.listing.case_sensitive else str.lower


def _recorded(state: State) -> set[tuple[str, str]]:
    entries = () if state.held is None else state.held.entries
    return {(each.kind, each.key or each.name) for each in entries if not each.fills_gap}


def _bytes_of(
    columns: Sequence[str] | None, sizes: Sizes, whole: int, fold: Callable[[str], str]
) -> int:
    """Return the bytes of columns in all files; of unknown ones, those of all columns."""
    if columns is None or not sizes:
        return whole
    names = [fold(column) for column in columns]
    return sum(
        number
        for (name, _), number in sizes.items()
        if any(fold(name) == each or fold(name).startswith(f"{each}.") for each in names)
    )


def _step_of(each: Proposal, files: int, read: int) -> Step:
    return Step(
        "record",
        files,
        read,
        kind=each.kind,
        name=each.name,
        is_expression=each.is_expression,
        scans=each.scans,
        lost_bytes=each.lost_bytes,
        lost_files=each.lost_files,
    )
