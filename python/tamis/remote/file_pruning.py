"""Pruning of Parquet files that a server refers to, by their footers."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.evaluation import NONE, verdicts
from tamis.evaluation.domain.bounds import Flags
from tamis.expr.nodes import And, Column, Expr, walk
from tamis.files.table import ArrowStatistics
from tamis.indexing.executor.columns_schema import Leaf, is_known
from tamis.indexing.executor.executor_job import files_table
from tamis.indexing.executor.footers import FooterReader
from tamis.indexing.storage import FileSystems, StorageUnreachableError

__all__ = ["leaves_of", "local_path", "ruled_out", "surviving_files"]

_CHUNK: Final = 256  # files, after which the time is checked
_CONCURRENT: Final = 16  # the threads wait for storage rather than compute


def surviving_files(
    uris: Sequence[str],
    conjuncts: Sequence[Expr],
    storage: Mapping[str, str] | None = None,
    seconds: float = 2.0,
) -> list[str]:
    """Return the files that may hold a row for which all conjuncts are true.

    Files whose footers cannot be read, or not within the time, are kept: Spark's error says more.

    Args:
        uris: The files: paths or URIs as Hadoop spells them, in which no character is escaped.
        conjuncts: Predicates over their columns.
        storage: The Hadoop settings `fs.*`; None: only local files are opened.
        seconds: The time after which no further footer is read.
    """
    if not conjuncts:
        return list(uris)
    until = time.monotonic() + min(seconds, threading.TIMEOUT_MAX / 2)
    file_systems = None if storage is None else FileSystems(storage)
    kept: list[str] = []
    for start in range(0, len(uris), _CHUNK):
        if time.monotonic() >= until:
            return [*kept, *uris[start:]]
        chunk = uris[start : start + _CHUNK]
        metadata = _footers(chunk, file_systems, until)
        is_out = iter(ruled_out([each for each in metadata if each is not None], conjuncts))
        kept += [
            uri
            for uri, each in zip(chunk, metadata, strict=True)
            if each is None or not next(is_out)
        ]
    return kept


def _footers(
    uris: Sequence[str], file_systems: FileSystems | None, until: float
) -> list[pq.FileMetaData | None]:
    """Return the footers that can be read before this time; None for the others."""
    footers: list[pq.FileMetaData | None] = [None] * len(uris)
    places = iter(range(len(uris)))  # next() of a range is atomic

    def read() -> None:
        for place in places:
            if time.monotonic() >= until:
                return
            footers[place] = _footer(uris[place], file_systems)

    # Daemons: storage that does not answer must not keep this process from ending.
    count = min(_CONCURRENT, len(uris))
    threads = [threading.Thread(target=read, daemon=True) for _ in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(max(0.0, until - time.monotonic()))
    return list(footers)


def _footer(uri: str, file_systems: FileSystems | None) -> pq.FileMetaData | None:
    path = local_path(uri)
    try:
        if path is not None:
            return pq.read_metadata(path)
        if file_systems is None:
            return None
        file_system, inside = file_systems.locate(quote(uri, safe="/:@"))
        return pq.read_metadata(inside, filesystem=file_system)
    except (OSError, ValueError, pa.ArrowException, StorageUnreachableError):
        return None


def ruled_out(footers: Sequence[pq.FileMetaData], conjuncts: Sequence[Expr]) -> Flags:
    """Return which footers prove that no row of their file satisfies all conjuncts.

    Args:
        footers: The footers.
        conjuncts: At least one predicate over columns of the files.
    """
    leaves = leaves_of(conjuncts)
    whole = conjuncts[0] if len(conjuncts) == 1 else And(tuple(conjuncts))
    is_out = np.ones(len(footers), np.bool_)
    # Whether names are compared with case is not known here, so both readings must agree.
    for case_sensitive in (False, True):
        reader = FooterReader(leaves, case_sensitive)
        read = [reader.read(each) for each in footers]
        statistics = ArrowStatistics(files_table(list(range(len(footers))), read, leaves))
        is_out &= verdicts(whole, statistics) == NONE
    return is_out


def local_path(uri: str) -> str | None:
    """Return the path of a local file; None for other URIs.

    >>> local_path("file:///data/a b%20"), local_path("/data"), local_path("s3://bucket/a")
    ('/data/a b%20', '/data', None)
    """
    path = uri.removeprefix("file://").removeprefix("file:")
    return path if path.startswith("/") else None


def leaves_of(conjuncts: Sequence[Expr]) -> tuple[Leaf, ...]:
    """Return the columns of predicates that can have statistics."""
    columns = {
        node.path: node.type
        for each in conjuncts
        for node in walk(each)
        if isinstance(node, Column)
    }
    leaves = [Leaf(path, str(type_)) for path, type_ in columns.items() if is_known(str(type_))]
    names = Counter(leaf.name for leaf in leaves)  # a.b may be a column, and a field of a column
    return tuple(leaf for leaf in leaves if names[leaf.name] == 1)
