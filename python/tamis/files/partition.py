"""Partition specs as Iceberg writes them: partition fields and their transforms.

A partition value is one more bound on its source column. A file of day 19797 holds timestamps of
that day, and none of them is NULL, because every transform returns NULL only for NULL.

Source: Iceberg table specification, "Partition Transforms".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["PartitionField", "Transform", "TransformKind"]


class TransformKind(StrEnum):
    IDENTITY = "identity"
    BUCKET = "bucket"
    TRUNCATE = "truncate"
    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    HOUR = "hour"
    VOID = "void"

    @property
    def is_time(self) -> bool:
        return self in _TIME


_TIME: Final = frozenset(
    (TransformKind.YEAR, TransformKind.MONTH, TransformKind.DAY, TransformKind.HOUR)
)
_PARAMETRIC: Final = re.compile(r"(bucket|truncate)\[(\d{1,10})\]")
_GREATEST_PARAMETER: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Transform:
    """A transform and its parameter: the number of buckets, or the width to truncate to."""

    kind: TransformKind
    parameter: int | None = None

    @staticmethod
    def parse(text: object) -> Transform | None:
        """Parse a transform as Iceberg writes it. Return None if it is not understood.

        >>> Transform.parse("bucket[16]")
        Transform(kind=<TransformKind.BUCKET: 'bucket'>, parameter=16)
        >>> Transform.parse("zorder[2]") is None
        True
        """
        if not isinstance(text, str):
            return None
        match = _PARAMETRIC.fullmatch(text)
        if match is not None:
            parameter = int(match[2])
            if not 1 <= parameter <= _GREATEST_PARAMETER:
                return None
            return Transform(TransformKind(match[1]), parameter)
        if text in ("bucket", "truncate"):
            return None  # these two need a parameter
        return Transform(TransformKind(text)) if text in set(TransformKind) else None

    def __str__(self) -> str:
        return str(self.kind) if self.parameter is None else f"{self.kind}[{self.parameter}]"


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One field of a partition spec. Its values are the column `partition.<name>` in `evaluate`.

    `source` is the column that the field is derived from (dots for struct fields). `transform` is
    spelled as in Iceberg. Values are those that Iceberg stores: ordinals since 1970 for the time
    transforms, the number of the bucket for bucket, and values of the source's type for identity
    and truncate.

    >>> PartitionField("ts", "day", "ts_day").transform
    'day'
    """

    source: str
    transform: str
    name: str
