"""Convert the statistics and partition values of a columnar file table to bounds of columns."""

from tamis.files.partition import PartitionField

__all__ = ["PartitionField"]
