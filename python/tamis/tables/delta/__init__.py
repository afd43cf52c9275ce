"""The statistics that the log of a Delta table records about its data files.

Delta in Spark resolves the snapshot and lists the files. This package reads only the files of the
log that it is given, with pyarrow and msgspec:

    tables       the entry point, and the logs that are open
    log_files    files of the log, each read once; checkpoints are kept in the local cache
    actions      JSON files; checkpoints: Parquet files
    statistics_json, values, edges, added_files
                 from the recorded statistics of a file to outer bounds
    replay       which action about a data file is the last
    delta_statistics
                 bounds of the files of a listing

Source: PROTOCOL.md of Delta, "Per-file Statistics", "Action Reconciliation", "Checkpoints".
"""

from tamis.tables.delta.delta_statistics import DeltaStatistics
from tamis.tables.delta.errors import SnapshotUnreadable
from tamis.tables.delta.tables import DeltaTables, statistics_of

__all__ = ["DeltaStatistics", "DeltaTables", "SnapshotUnreadable", "statistics_of"]
