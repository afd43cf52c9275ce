"""The encoding of filters that a worker understands."""

from __future__ import annotations

from tamis.remote.vgi.filters.filter_document import FilterDocument
from tamis.remote.vgi.filters.filter_list import FilterList
from tamis.remote.vgi.protocol.version_1 import is_first

__all__ = ["Encoding", "encoding_of"]

Encoding = type[FilterDocument] | type[FilterList]


def encoding_of(version: str) -> Encoding:
    """Return the encoding of the filters for a worker that speaks this version.

    >>> encoding_of("2.0.0").__name__, encoding_of("1.5.0").__name__
    ('FilterDocument', 'FilterList')
    """
    return FilterList if is_first(version) else FilterDocument
