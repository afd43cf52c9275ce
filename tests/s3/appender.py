"""`appender.py SETTINGS ROOT NUMBER…`: append files of a table to its index, one after another.

Each file is a segment of its own, which is committed as a refresh does, without Spark.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from subprocess import PIPE, Popen
from typing import TYPE_CHECKING

import pyarrow as pa

from tamis.indexing.automatic.local_footers import readable
from tamis.indexing.build.segments import append
from tamis.indexing.executor.columns_schema import leaves_of
from tamis.indexing.executor.executor_job import harvest
from tamis.indexing.format.store import Store as IndexStore
from tamis.indexing.read.snapshot import FileKeys

if TYPE_CHECKING:
    from bench.s3.store import Store


@contextmanager
def appending(store: Store, root: str, numbers: Sequence[int]) -> Iterator[None]:
    """Let another process append files while the context is active; wait for it at the end."""
    arguments = [json.dumps(store.settings), root, *map(str, numbers)]
    environment = {"PYTHONPATH": ":".join(each for each in sys.path if each)}
    with Popen([sys.executable, __file__, *arguments], env=environment, stderr=PIPE) as process:
        yield
        _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()


def append_file(index: IndexStore, root: str, number: int, settings: dict[str, str]) -> None:
    pointer = index.pointer()
    leaves = leaves_of(pointer.schema)
    name = f"{number:02}.parquet"
    info = index.file_system.get_file_info(f"{index.path.rpartition('/')[0]}/{name}")
    keys = FileKeys(
        (root,),
        pa.chunked_array([pa.array([0], pa.int32())]),
        pa.chunked_array([[name]]),
        pa.chunked_array([[info.size]]),
        pa.chunked_array([[info.mtime_ns // 1_000_000]]),
    )
    batch = pa.record_batch({"ordinal": [0], "uri": keys.uris(), "size": [info.size]})
    (read,) = harvest([batch], leaves, pointer.case_sensitive, settings)
    tables = [
        pa.ipc.open_stream(read.column(name)[0].as_py()).read_all()
        for name in ("files", "row_groups")
    ]
    content = readable(keys, leaves, *tables)
    segment = index.write_segment(content.files, content.row_groups)
    append(index, pointer, segment, content)


def main(settings: str, root: str, *numbers: str) -> None:
    index = IndexStore.at(root, None, json.loads(settings))
    for number in numbers:
        append_file(index, root, int(number), json.loads(settings))


if __name__ == "__main__":
    main(*sys.argv[1:])
