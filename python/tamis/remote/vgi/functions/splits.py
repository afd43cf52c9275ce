"""The splits of a scan, which the worker plans on request and executors read in parallel.

Each split has a token, with which any process of the worker reads it, as often as needed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tamis.remote.vgi.client import Client
from tamis.remote.vgi.functions.call import Call
from tamis.remote.vgi.protocol.records import PLANNED, SPLIT

__all__ = ["Splits", "planned_splits"]

_MOST_PAGES: Final = 1_024
_PAGE_SPLITS: Final = 1_000
_MOST_SPLITS: Final = 100_000
_MOST_TASKS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Splits:
    """Groups of splits, and what else their scans need: one group per task."""

    options: Mapping[str, Any]
    groups: Sequence[Sequence[bytes]]


def planned_splits(client: Client, call: Call, options: Mapping[str, Any]) -> list[Splits] | None:
    """Return the splits of a scan with these options; None if it cannot be split.

    Raises:
        RemoteError: The worker fails, or its plan does not end.
    """
    if not call.function.splits:
        return None
    pages = _pages(client, call, options)
    if pages is None:
        return None
    size = max(1, -(-sum(len(tokens) for _, tokens in pages) // _MOST_TASKS))
    return [
        Splits(shared, [tokens[at : at + size] for at in range(0, len(tokens), size)])
        for shared, tokens in pages
    ]


def _pages(
    client: Client, call: Call, options: Mapping[str, Any]
) -> list[tuple[dict[str, Any], list[bytes]]] | None:
    """Return the tokens of every page, with what their scans need; None if there are none."""
    pages: list[tuple[dict[str, Any], list[bytes]]] = []
    cursors: deque[bytes | None] = deque([None])
    splits = 0
    for _ in range(_MOST_PAGES):
        if not cursors:
            return pages
        page = _page(client, call, options, cursors.popleft())
        tokens = [each["token"] for each in page["splits"]]
        splits += len(tokens)
        # An empty token is not a split: the worker has only whole scans. Tokens of a transaction
        # end with it, and tamis has none.
        if not all(tokens) or page["scope"].lower() == "transaction":
            return None
        if splits > _MOST_SPLITS:
            break
        shared = {key: page[key] for key in ("execution_id", "init_opaque_data")}
        pages.append(({**options, **shared}, tokens))
        cursors += page["next_cursors"] or []
    raise client.error(
        "table_function_plan",
        f"the plan has more than {_MOST_PAGES} pages or {_MOST_SPLITS} splits",
    )


def _page(
    client: Client, call: Call, options: Mapping[str, Any], cursor: bytes | None
) -> dict[str, Any]:
    fields = ("splits", "next_cursors", "execution_id", "init_opaque_data", "scope")

    def read(body: bytes) -> dict[str, Any]:
        page = PLANNED.unpack(body, fields)
        page["splits"] = [SPLIT.unpack(each, ["token"]) for each in page["splits"]]
        return page

    request = call.plan_request(**options, cursor=cursor, max_splits_per_response=_PAGE_SPLITS)
    return client.ask("table_function_plan", {"request": request}, read)
