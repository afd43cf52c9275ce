"""The sizes of the column chunks of Parquet files, from their footers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import pyarrow.parquet as pq

from tamis.indexing.storage import FileSystems

__all__ = ["chunk_sizes"]


def chunk_sizes(uris: Iterable[str], settings: Mapping[str, str]) -> dict[tuple[str, str], int]:
    """Return the compressed bytes of each column in all of these files together.

    Files that cannot be read are left out.

    Args:
        uris: The files, as URI-encoded URIs.
        settings: The `fs.*` settings of the storage.

    Returns:
        Bytes by the dotted path of the column in the Parquet schema, and its physical type.
    """
    systems = FileSystems(settings)
    sizes: Counter[tuple[str, str]] = Counter()
    for uri in uris:
        try:
            system, path = systems.locate(uri)
            with system.open_input_file(path) as file:
                footer = pq.read_metadata(file)
        except Exception:  # pyarrow and the stores below it may raise anything
            continue
        for row_group in range(footer.num_row_groups):
            group = footer.row_group(row_group)
            for number in range(group.num_columns):
                chunk = group.column(number)
                sizes[chunk.path_in_schema, chunk.physical_type] += chunk.total_compressed_size
    return dict(sizes)
