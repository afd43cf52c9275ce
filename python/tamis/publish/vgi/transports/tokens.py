"""The bearer tokens of callers."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from pathlib import Path

from tamis.publish.errors import PublishError

__all__ = ["Tokens"]

_SCHEME = "bearer "


class Tokens:
    """Bearer tokens, stored as digests. Messages never contain them.

    >>> tokens = Tokens(["secret"])
    >>> tokens.caller("Bearer guess") is None, tokens.caller("Bearer secret") is None
    (True, False)
    """

    def __init__(self, tokens: Sequence[str] = ()) -> None:
        self._digests = [_digest(each) for each in tokens]

    @staticmethod
    def read(path: Path) -> Tokens:
        """Read a file with one token per line.

        Raises:
            PublishError: The file cannot be read, or has no token.
        """
        try:
            lines = [line.strip() for line in path.read_text().splitlines()]
        except (OSError, UnicodeDecodeError) as error:
            raise PublishError(
                f"the token file {path} cannot be read ({error}): check its path and permissions"
            ) from error
        tokens = [line for line in lines if line]
        if not tokens:
            raise PublishError(
                f"the token file {path} is empty: write one bearer token per line into it"
            )
        return Tokens(tokens)

    def caller(self, authorization: str | None) -> str | None:
        """Return an identifier of the caller; None if its token is missing or wrong.

        Without tokens, every caller is accepted.
        """
        if not self._digests:
            return "anyone"
        given = authorization or ""
        if given[: len(_SCHEME)].lower() != _SCHEME:
            return None
        digest = _digest(given[len(_SCHEME) :].strip())
        # All are compared, so that the time does not depend on which one matches.
        matches = [hmac.compare_digest(digest, each) for each in self._digests]
        return digest.hex() if any(matches) else None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
