"""One listing of each table for all requests of a transaction.

A client may plan a query with the statistics of a table and then request its parts. If files are
added in between, the statistics do not describe them, and the client could lose their rows. So
requests with the same identifier see the same files.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from typing import Final

from tamis.publish.pruning import Snapshot
from tamis.publish.tables import PublishedTable
from tamis.recent import Recent
from tamis.sources.file_source import Moment

__all__ = ["Transactions"]

#: Later transactions end the oldest ones, whose next request gets a new listing.
_MOST: Final = 1_000


class Transactions:
    """The listings of the last transactions. Thread-safe."""

    def __init__(self) -> None:
        self._listings = Recent[dict[tuple[str, Moment | None], Snapshot]](_MOST)
        self._lock = threading.Lock()

    def begin(self) -> str:
        """Return the identifier of a new transaction."""
        return secrets.token_hex(8)

    def snapshot(
        self,
        identifiers: Sequence[str],
        name: str,
        table: PublishedTable,
        moment: Moment | None = None,
    ) -> Snapshot:
        """Return the files of a table, as the first request with these identifiers has seen them.

        Args:
            identifiers: Those of the transaction and of the scan, as far as the client sends them.
            name: The name of the table.
            table: The table.
            moment: The time to read it at; None: now.

        Raises:
            PublishError: The table cannot be listed.
        """
        with self._lock:
            for identifier in identifiers:
                known = (self._listings.get(identifier) or {}).get((name, moment))
                if known is not None:
                    return known
        current = table.current() if moment is None else table.as_of(moment)
        with self._lock:
            for identifier in identifiers:
                # another request of the transaction may have been faster
                listings = self._listings.get_or(identifier, dict)
                current = listings.setdefault((name, moment), current)
        return current
