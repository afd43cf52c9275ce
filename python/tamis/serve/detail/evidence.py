"""The verdict on each file of a scan, with the statistics that prove it.

They are written to `<id>.evidence.arrow`, with one row per file of the listing, in its order:

    rows         int64; null: unknown
    verdict      utf8, of all conjuncts together: none, some, all; null: nothing is known
    ruled_out    int32, the first conjunct that alone prunes the file; -1: the file has no row
    together     int32, the number of the conjunct that prunes it together with those before
    statistics   map<utf8, utf8>: cells of the public `files` table, as literals of Spark SQL
    remembered   bool: an earlier scan found no row in the file that passes
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation import verdicts
from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.udf.udf_guard import UdfGuard
from tamis.evaluation.verdict import Verdict
from tamis.expr.nodes import And, Expr, Literal
from tamis.expr.rewrites import without_outcomes
from tamis.expr.types import BOOLEAN, DataType
from tamis.files.columns import count_array
from tamis.files.table import dotted
from tamis.files.verdicts import evaluate
from tamis.indexing.read.memory import release_unused_memory
from tamis.plan.detail.pruning_effects import effects
from tamis.plan.scan_decision import kept_files
from tamis.serve.detail.literals import literals
from tamis.serve.remembered import remembered_files
from tamis.serve.scans.arrow_export import written
from tamis.serve.scans.deep_recursion import depth_of, with_room
from tamis.serve.scans.implied_ranges import found_ranges
from tamis.serve.scans.scan_files import read_conjuncts, with_learnt
from tamis.tables.evidence import NamedColumns, cells_of, named_columns
from tamis.tables.parquet import open_scan
from tamis.tables.scan_input import ScanInput
from tamis.wire.messages import PlanRequest, Written, read_request, write_answer

__all__ = ["write_evidence"]

#: A cell that marks verdicts which the other cells alone do not prove: a Bloom filter, a list of
#: values, values that Spark has evaluated, the bounds of an expression, or a NULL partition value
#: contributed.
NOT_ALL: Final = "not_in_cells"

_NAMES: Final = np.array([str(each) for each in (Verdict.NONE, Verdict.SOME, Verdict.ALL)])
_SOME: Final = 1


def write_evidence(question: str) -> str:
    """Write the evidence of each file for a PlanRequest.

    Raises:
        TamisError: The request cannot be read.
        OSError, ValueError: The listing cannot be read, or the file cannot be written.
    """
    request = read_request(question)
    table = with_room(depth_of(request.conjuncts), lambda: _evidence(request))
    written(table, request.snapshot.directory, request.id, "evidence")
    release_unused_memory()
    return write_answer(Written(request.id, len(table)))


def _evidence(request: PlanRequest) -> pa.Table:
    scan, files = open_scan(request), request.snapshot.files
    conjuncts = read_conjuncts(request, UdfGuard())
    columns = named_columns(conjuncts)
    whole = And(tuple(conjuncts)) if conjuncts else Literal(True, BOOLEAN)
    codes = np.full(files, _SOME, np.int8)
    for segment in scan.segments:
        codes[segment.ordinals] = verdicts(whole, segment.statistics)
    cells, is_known = _cells(scan, columns, whole, codes)
    # Without any statistics, "some" proves nothing. A constant predicate may still decide.
    verdict = pa.array(_NAMES[codes], mask=~is_known & (codes == _SOME))
    # as in planning: the ranges implied by all conjuncts may prune more than one by one
    implied = [each.predicate for each in found_ranges(conjuncts)]
    kept = kept_files(conjuncts, scan.segments, files, implied)
    alone, together = _ruled_out(scan, conjuncts, kept)
    remembered = remembered_files(request, kept, with_learnt(scan, conjuncts, implied))
    rows = scan.num_records
    return pa.table(
        {
            "rows": pa.nulls(files, pa.int64()) if rows is None else count_array(rows),
            "verdict": verdict,
            "ruled_out": alone,
            "together": together,
            "statistics": cells,
            "remembered": pa.array(remembered),
        }
    )


def _ruled_out(scan: ScanInput, conjuncts: list[Expr], kept: Flags) -> tuple[pa.Array, pa.Array]:
    files = len(kept)
    alone, together = np.full(files, files, np.int64), np.full(files, files, np.int64)
    for number, effect in reversed(list(enumerate(effects(conjuncts, scan.segments, files)))):
        alone[effect.alone] = number
        if effect.added is not None:
            together[effect.added] = number
    if conjuncts:
        together[~kept & (together == files)] = len(conjuncts) - 1
    empty = np.zeros(files, np.bool_)
    for segment in scan.segments:
        flags = segment.statistics.empty()
        if flags is not None:
            empty[segment.ordinals] = flags
    alone[empty] = -1
    return _ordinals(alone, files), _ordinals(together, files)


def _ordinals(numbers: npt.NDArray[np.int64], none: int) -> pa.Array:
    return pa.array(numbers.astype(np.int32), mask=numbers == none)


def _cells(
    scan: ScanInput, columns: NamedColumns, whole: Expr, codes: npt.NDArray[np.int8]
) -> tuple[pa.Array, npt.NDArray[np.bool_]]:
    """Return a map of cells for each file, and whether it has any statistics."""
    types = {dotted(path): data_type for path, data_type in columns.items()}
    is_known = np.zeros(len(codes), np.bool_)
    maps, order = [], []
    for ordinals, cells in cells_of(scan, columns):
        numbers = np.arange(len(codes))[ordinals]
        texts = {name: literals(each, _type_of(name, types)) for name, each in cells.items()}
        for each in cells.values():
            is_known[ordinals] |= each.is_valid().to_numpy(zero_copy_only=False)
        differs = _replayed(without_outcomes(whole), cells, len(numbers)) != _NAMES[codes[ordinals]]
        if differs.any():
            texts[NOT_ALL] = pa.array(["true" if each else None for each in differs], pa.string())
        maps.append(_maps(texts, len(numbers)))
        order.append(numbers)
    # an empty listing has no parts
    joined = pa.concat_arrays([*maps, _maps({}, 0)])
    places = np.argsort(np.concatenate([*order, np.empty(0, np.int64)]), kind="stable")
    return joined.take(pa.array(places)), is_known


def _replayed(whole: Expr, cells: dict[str, pa.Array], count: int) -> npt.NDArray[np.str_]:
    """Return the verdicts that follow from the cells alone."""
    files = pa.table(cells or {"num_records": pa.nulls(count, pa.int64())})
    return np.array(evaluate(whole, files).to_pylist(), np.str_)


def _type_of(name: str, types: dict[str, DataType | None]) -> DataType | None:
    kind, _, column = name.partition(".")
    return types.get(column) if kind in ("min", "max") else None


def _maps(texts: dict[str, pa.Array], count: int) -> pa.Array:
    """Return one map per row, with the names whose text is not null."""
    keys = pa.array(list(texts), pa.string())
    columns = len(texts)
    if not columns or not count:
        nothing = pa.array([], pa.string())
        return pa.MapArray.from_arrays(pa.array(np.zeros(count + 1, np.int32)), nothing, nothing)
    valid = np.stack([each.is_valid().to_numpy(zero_copy_only=False) for each in texts.values()], 1)
    row, column = np.nonzero(valid)
    items = pa.concat_arrays([*texts.values()]).take(pa.array(column * count + row))
    offsets = np.concatenate([[0], np.cumsum(valid.sum(axis=1))]).astype(np.int32)
    return pa.MapArray.from_arrays(pa.array(offsets), keys.take(pa.array(column)), items)
