"""Pruning of Parquet files that a server refers to, by their footers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

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

__all__ = ["leaves_of", "local_path", "ruled_out", "surviving_files"]

#: Footers of more files than this are not read while a query is planned.
_MOST_FILES: Final = 500
_CONCURRENT: Final = 16  # the threads wait for storage rather than compute


def surviving_files(uris: Sequence[str], conjuncts: Sequence[Expr]) -> list[str]:
    """Return the files that may hold a row for which all conjuncts are true.

    Only local files are opened. Those that cannot be opened are kept: Spark's error says more.

    Args:
        uris: The files: paths or URIs, in which no character is escaped.
        conjuncts: Predicates over their columns.
    """
    if not conjuncts or len(uris) > _MOST_FILES:
        return list(uris)
    with ThreadPoolExecutor(_CONCURRENT) as pool:
        metadata = list(pool.map(_metadata, uris))
    opened = [place for place, each in enumerate(metadata) if each is not None]
    is_out = ruled_out([metadata[place] for place in opened], conjuncts)
    gone = {place for place, is_gone in zip(opened, is_out, strict=True) if is_gone}
    return [uri for place, uri in enumerate(uris) if place not in gone]


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


def _metadata(uri: str) -> pq.FileMetaData | None:
    try:
        path = local_path(uri)
        return None if path is None else pq.read_metadata(path)
    except (OSError, ValueError, pa.ArrowException):
        return None
