"""Errors of requests, as the protocol reports them."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from tamis.errors import TamisError
from tamis.publish.vgi.rows import CannotEvaluate
from tamis.remote.vgi.protocol.framing import MalformedMessage, error_metadata
from tamis.wire.vgi import Malformed

__all__ = ["Refused", "error_of"]

_LOG = logging.getLogger(__name__)


class Refused(Exception):
    """A request that is not carried out.

    Attributes:
        code: The code of the protocol.
        kind: The kind of a protocol error, empty for others.
        type: The name of the error for clients.
    """

    def __init__(
        self,
        text: str,
        code: str = "INVALID_ARGUMENT",
        kind: str = "",
        type: str = "ValueError",
    ) -> None:
        super().__init__(text)
        self.code, self.kind, self.type = code, kind, type


def error_of(error: Exception) -> Mapping[bytes, bytes]:
    """Return the metadata of the batch that reports an error. It never has a traceback."""
    match error:
        case Refused():
            return error_metadata(error.type, str(error), error.code, error.kind)
        case Malformed():
            return error_metadata("FilterError", str(error), "INVALID_ARGUMENT")
        case CannotEvaluate():
            return error_metadata("FilterError", str(error), "FAILED_PRECONDITION")
        case MalformedMessage():
            return error_metadata("MalformedMessage", str(error), "INVALID_ARGUMENT")
        case UnicodeDecodeError():  # pyarrow decodes names when they are used
            text = "the request has text that is not UTF-8"
            return error_metadata("MalformedMessage", text, "INVALID_ARGUMENT")
        case TamisError():
            return error_metadata(type(error).__name__, str(error), "FAILED_PRECONDITION")
    _LOG.error("a request has failed", exc_info=error)
    return error_metadata("InternalError", "the worker has failed: see its log", "INTERNAL")
