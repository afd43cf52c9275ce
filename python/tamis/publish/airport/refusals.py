"""Every failure of a request becomes an error of Flight.

pyarrow sends the traceback of other exceptions to the client.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow.flight as flight

from tamis.publish.airport.messages import MalformedRequest
from tamis.publish.errors import PublishError

__all__ = ["refusals"]

_LOG = logging.getLogger(__name__)


@contextmanager
def refusals() -> Iterator[None]:
    """Turn exceptions into FlightServerError, with the text of those that are raised on purpose."""
    try:
        yield
    except flight.FlightError:
        raise
    except (PublishError, MalformedRequest) as problem:
        raise flight.FlightServerError(str(problem)) from None
    except Exception as problem:
        _LOG.exception("a request has failed")
        raise flight.FlightServerError(
            f"the server has failed ({type(problem).__name__}): see its log"
        ) from None
