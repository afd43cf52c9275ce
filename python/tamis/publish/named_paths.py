"""The tables of the commands `serve-airport` and `serve-vgi`, given as NAME=PATH."""

from __future__ import annotations

from collections.abc import Sequence

from tamis.publish.errors import PublishError

__all__ = ["named_paths"]


def named_paths(texts: Sequence[str]) -> dict[str, str]:
    """Return the path of each table by its name.

    Raises:
        PublishError: An argument has another form, or two names are equal except for their case.

    >>> named_paths(["orders=/data/orders", "events=s3://bucket/a=1"])
    {'orders': '/data/orders', 'events': 's3://bucket/a=1'}
    """
    paths: dict[str, str] = {}
    for text in texts:
        name, _, path = text.partition("=")
        if not name or not path:
            raise PublishError(
                f"the argument {text} does not have the form NAME=PATH, such as orders=/data/orders"
            )
        if name.lower() in {each.lower() for each in paths}:
            raise PublishError(
                f"two tables are named {name}, which clients cannot distinguish: rename one of them"
            )
        paths[name] = path
    return paths
