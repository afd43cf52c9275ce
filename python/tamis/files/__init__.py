"""The columnar file table: statistics and partition values, as bounds of columns."""

from tamis.files.partition import PartitionField

__all__ = ["PartitionField"]
