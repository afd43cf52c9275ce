"""The data files of a snapshot of Iceberg, for the shim.

They are written to `<id>.iceberg.arrow`, with one row per file, ordered by location:

    location   utf8, as Iceberg writes it
    uri        utf8, URL-encoded, as Hadoop's `new Path(location).toUri.toString` writes it
    size       int64, bytes
    records    int64, rows of the file, also those that were deleted; -1: unknown
    is_plain   bool, whether Spark's own Parquet reader can read it: Parquet, not encrypted, and no
               row deleted
    is_parquet bool, whether it is Parquet that is not encrypted
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.serve.scans.arrow_export import written
from tamis.wire.iceberg_files import IcebergFilesAnswer, read_iceberg_files_request
from tamis.wire.messages import write_answer

__all__ = ["write_iceberg_files"]


def write_iceberg_files(question: str) -> str:
    """Write the data files for an IcebergFilesRequest.

    Raises:
        TamisError: The request cannot be read.
        OSError: The file cannot be written.
    """
    # imported only here, because polars takes a while
    from tamis.tables.iceberg import SnapshotUnreadable, open_snapshot

    request = read_iceberg_files_request(question)
    try:
        files = open_snapshot(request.snapshot, request.storage, request.cache_directory)
    except SnapshotUnreadable as problem:
        return write_answer(IcebergFilesAnswer(request.id, problem=problem.text))
    is_parquet = pc.equal(files.formats, "PARQUET").to_numpy(zero_copy_only=False)
    is_parquet = is_parquet & ~files.encrypted
    is_plain = is_parquet & ~files.deletes.any
    table = pa.table(
        {
            "location": files.locations,
            "uri": files.uris,
            "size": pa.array(files.sizes, pa.int64()),
            "records": pa.array(files.num_records, pa.int64()),
            "is_plain": pa.array(np.asarray(is_plain, np.bool_)),
            "is_parquet": pa.array(np.asarray(is_parquet, np.bool_)),
        }
    )
    written(table, request.directory, request.id, "iceberg")
    return write_answer(IcebergFilesAnswer(request.id, len(files)))
