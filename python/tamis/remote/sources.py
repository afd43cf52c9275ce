"""The remote sources by the name of their format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tamis.remote.airport.source import AirportSource
from tamis.remote.contract import RemoteSource
from tamis.remote.vgi.source import VgiSource

__all__ = ["OF_QUERY", "open_source"]

#: Prefix of the options with which the extension hands over a query (RemoteTable.scala).
OF_QUERY: Final = "tamis."

_SOURCES: Final = {"tamis.airport": AirportSource, "tamis.vgi": VgiSource}


def open_source(name: str, options: Mapping[str, str]) -> RemoteSource:
    """Return the source of a format.

    Args:
        name: The name of the format, such as `tamis.airport`.
        options: The options of the user, and those of a query, which the source does not get.

    Raises:
        RemoteError: An option is missing, unknown or malformed.
    """
    return _SOURCES[name]({k: v for k, v in options.items() if not k.startswith(OF_QUERY)})
