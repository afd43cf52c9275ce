"""A directory of a great many Parquet files that uses little disk space, and an index of it.

The files are hard links of a few small ones. The index contains invented statistics, as if the
files were clustered by id. Queries over them are only planned, never run.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.session import jvm
from tamis.indexing.build.generation import assemble, pointer_to
from tamis.indexing.executor.columns_schema import leaves_of
from tamis.indexing.executor.executor_job import row_groups_table
from tamis.indexing.format.store import Store
from tamis.indexing.read.snapshot import open_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LINKS = 50_000  # per file: file systems allow 65,000
_FILES_A_DIRECTORY = 10_000


def link_files(folder: Path, count: int) -> None:
    """Create `count` files in the folder."""
    originals = []
    for number in range(-(-count // _LINKS)):
        original = folder.with_name(f"{folder.name}-original-{number}")
        original.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": pa.array([number]), "name": ["x"], "v": [1.5]}), original)
        originals.append(original)
    for number in range(count):
        directory = folder / f"batch={number // _FILES_A_DIRECTORY}"
        if number % _FILES_A_DIRECTORY == 0:
            directory.mkdir(parents=True)
        os.link(originals[number // _LINKS], directory / f"part-{number:07d}-c000.snappy.parquet")


def write_index(spark: SparkSession, folder: Path, scratch: Path) -> None:
    """Write an index in which each file has ten ids, in order of file names."""
    scratch.mkdir(parents=True, exist_ok=True)
    export = jvm(spark).io.tamis.Tamis.exportListing
    listing = json.loads(export(spark._jsparkSession, str(folder), str(scratch)))
    keys = open_snapshot(str(scratch), listing["fingerprint"]).files
    ordinal = np.array([int(name.as_py()[5:12]) for name in keys.name])
    leaves = leaves_of(listing["schema"])
    size = len(ordinal)
    names = [f"n{i:09d}".encode() for i in ordinal * 10]
    last = [f"n{i:09d}".encode() for i in ordinal * 10 + 9]
    bounds = {
        "id": (pa.array(ordinal * 10), pa.array(ordinal * 10 + 9)),
        "name": (pa.array(names, pa.binary()), pa.array(last, pa.binary())),
        "v": (pa.array(ordinal * 1.5), pa.array(ordinal * 1.5 + 100)),
    }
    columns = {
        "ordinal": pa.array(np.arange(size)),
        "problem": pa.nulls(size, pa.string()),
        "num_records": pa.array(np.full(size, 10)),
        "row_groups": pa.array(np.ones(size, np.int32)),
    }
    for name, (lower, upper) in bounds.items():
        columns |= {f"min.{name}": lower, f"max.{name}": upper}
        columns[f"null_count.{name}"] = pa.array(np.zeros(size, np.int64))
    generation = assemble(keys, leaves, pa.table(columns), row_groups_table([], [], leaves))
    store = Store.at(listing["roots"][0], None, {})
    segment = store.write_segment(generation.files, generation.row_groups)
    store.commit(
        pointer_to(
            segment,
            generation,
            listing["roots"][0],
            listing["schema"],
            listing["partition_schema"],
            listing["case_sensitive"],
        )
    )
    jvm(spark).io.tamis.Tamis.invalidate(listing["roots"][0])
