"""A snapshot of a Delta table, as Delta has resolved it in Spark."""

from __future__ import annotations

import msgspec

__all__ = ["DeltaSnapshot"]


class DeltaSnapshot(msgspec.Struct, frozen=True):
    """The files of the log segment of one version, and what is needed to read their statistics.

    Delta finds these files in Spark, because a directory listing shows another state of tables
    whose commits are managed by a catalog.

    - `version`: the version of the table.
    - `root`: the directory of the table, a URL-encoded URI.
    - `checkpoint`: URL-encoded URIs of the files of the checkpoint: one classic file, all parts of
      a multi-part checkpoint, or the top-level file of a v2 checkpoint. Empty if there is none.
    - `commits`: URL-encoded URIs of the JSON commits after the checkpoint in order of version:
      published, staged, or compacted.
    - `state`: a digest of the id of the table, and of the sizes and modification times of these
      files. A table that is created again at the same place has files of the same names.
    - `schema`: Spark's JSON of the schema of the table with the metadata of all fields, which says
      how columns are mapped, and whether their types have changed or are collated.
    - `column_mapping`: "none", "name" or "id".
    - `partition_columns`: logical names. The log has no statistics of them.
    """

    version: int
    root: str
    checkpoint: list[str]
    commits: list[str]
    schema: str
    column_mapping: str = "none"
    partition_columns: list[str] = []
    state: str = ""
