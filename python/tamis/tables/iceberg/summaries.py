"""Manifests that cannot contain a matching row, from the summaries in a manifest list.

A manifest is one container: the values of its partition fields lie within the bounds of their
summaries, so the values of their source columns do as well.

Source: Iceberg table specification, "Manifest Lists".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation import NONE, verdicts
from tamis.evaluation.domain.bounds import NO, Bounds
from tamis.evaluation.domain.intersection import forget, intersect
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Column, Expr
from tamis.expr.types import DATE, INTEGER, DataType
from tamis.files.partition import Transform, TransformKind
from tamis.files.transforms import partition_bounds
from tamis.tables.iceberg.manifest import ManifestFile, Summary
from tamis.tables.iceberg.partition_values import fields_of_column, partition_type
from tamis.tables.iceberg.schema import SchemaColumn, Spec
from tamis.tables.iceberg.single_values import decode_bounds, has_bounds

__all__ = ["SummaryStatistics", "matching_manifests"]


def matching_manifests(
    manifests: Sequence[ManifestFile],
    columns: Mapping[tuple[str, ...], SchemaColumn],
    specs: Mapping[int, Spec],
    format_version: int,
    conjuncts: Sequence[Expr],
) -> npt.NDArray[np.bool_]:
    """Return which manifests may contain a row for which all conjuncts are true. Never raises."""
    matching = np.ones(len(manifests), np.bool_)
    for spec in specs.values():
        places = [
            n
            for n, each in enumerate(manifests)
            if each.spec_id == spec.id
            and each.summaries is not None
            and len(each.summaries) == len(spec.fields)
        ]
        if not places or not spec.fields:
            continue
        summaries = [manifests[n].summaries or () for n in places]
        statistics = SummaryStatistics(summaries, columns, spec, format_version)
        for conjunct in conjuncts:
            try:
                matching[places] &= verdicts(conjunct, statistics) != NONE
            except Exception:  # after any failure nothing is proven
                continue
    return matching


class SummaryStatistics(Statistics):
    """Statistics with one container per manifest, all of one partition spec."""

    def __init__(
        self,
        summaries: Sequence[Sequence[Summary]],
        columns: Mapping[tuple[str, ...], SchemaColumn],
        spec: Spec,
        format_version: int,
    ) -> None:
        self._summaries = summaries
        self._columns = columns
        self._spec = spec
        self._format_version = format_version
        self._bounds: dict[Column, Bounds] = {}

    @property
    def num_containers(self) -> int:
        return len(self._summaries)

    def bounds(self, column: Column) -> Bounds:
        if column not in self._bounds:
            try:
                self._bounds[column] = self._of_column(column)
            except (pa.ArrowException, ValueError, TypeError, ArithmeticError):
                self._bounds[column] = Bounds.unknown(column.type)
        return self._bounds[column]

    def _of_column(self, column: Column) -> Bounds:
        bounds = Bounds.unknown(column.type)
        known = self._columns.get(column.path)
        if known is None or known.type != column.type:
            return bounds
        for field, transform in fields_of_column(known, self._spec, self._format_version):
            place = self._spec.fields.index(field)
            of_field = [each[place] for each in self._summaries]
            bounds = intersect(bounds, _bounds(column.type, transform, of_field))
        return bounds


def _bounds(data_type: DataType, transform: Transform, summaries: Sequence[Summary]) -> Bounds:
    """Return the bounds of the source of a partition field."""
    lower = _values([each.lower for each in summaries], data_type, transform)
    upper = _values([each.upper for each in summaries], data_type, transform)
    # Every transform but void, which is left out before, returns NULL only for NULL. So where no
    # value of the field is NULL, no row has NULL in the source. Not known is no proof.
    can_be_null = np.array([each.contains_null is not False for each in summaries])
    # A summary has no bounds if all values of the field are NULL or NaN, and the sources of fields
    # that could be NaN are left out before. Together with the NULLs that it reports, that says that
    # the source is NULL in every row. Without these, the bounds may be missing for another reason.
    can_be_value = np.array(
        [
            each.lower is not None or each.upper is not None or each.contains_null is not True
            for each in summaries
        ]
    )
    if lower is None or upper is None:
        return Bounds(data_type, None, None, can_be_null, NO, can_be_value)
    if transform.kind is TransformKind.BUCKET:
        same = pc.fill_null(pc.equal(lower, upper), False)
        lower = upper = pc.if_else(same, lower, pa.scalar(None, lower.type))
    # If a bound is above the other one, one is wrong, and it is not known which one. If one is not
    # understood, such as a truncated integer that wrapped around, the other is not trusted either.
    untrusted = np.asarray(pc.fill_null(pc.greater(lower, upper), True))
    least = partition_bounds(data_type, transform, lower)
    greatest = partition_bounds(data_type, transform, upper)
    bounds = Bounds(
        data_type,
        least.lower,
        greatest.upper,
        can_be_null,
        NO,
        can_be_value,
        least.lower_known,
        greatest.upper_known,
        greatest.upper_open,
        buckets=least.buckets,
    )
    for known in (bounds.lower_known, bounds.upper_known):
        if known is not None:
            untrusted = untrusted | ~known
    return forget(bounds, untrusted & can_be_value)  # without a value there is no bound to trust


def _values(
    raw: Sequence[bytes | None], data_type: DataType, transform: Transform
) -> pa.Array | None:
    """Return the bounds of a partition field, in the type of `partition_bounds`."""
    wanted = partition_type(data_type, transform)
    of_values = data_type
    if wanted == pa.int32():
        of_values = DATE if data_type == DATE else INTEGER
    if not has_bounds(of_values):
        return None
    values = decode_bounds(pa.array(raw, pa.binary()), of_values)
    if pa.types.is_integer(values.type) and wanted != values.type:
        values = values.cast(pa.int32()) if wanted == pa.date32() else values
        values = values.cast(wanted)
    return values
