"""What the shim calls. The edge never raises: any failure becomes a document that says so."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable

from tamis.errors import TamisError
from tamis.serve.recorder import Recorder
from tamis.wire.messages import Failure, PlanFailure, write_answer


class Handler:
    """Implements io.tamis.bridge.Planner. Strings only.

    answered: called after each question.  recorder: where scans that ran are told of.
    """

    def __init__(
        self, answered: Callable[[], None] = lambda: None, recorder: Recorder | None = None
    ) -> None:
        self._answered = answered
        self._recorder = recorder or Recorder()

    def plan(self, request: str) -> str:
        """Answer a PlanRequest, or with a PlanFailure: then the shim keeps everything."""

        def answer() -> str:
            from tamis.serve.planning import plan

            return plan(request)

        return self._guarded(request, answer)

    def imply(self, request: str) -> str:
        """Answer an ImpliedRequest, or with a PlanFailure: then the shim adds no filter."""

        def answer() -> str:
            from tamis.serve.implied import imply

            return imply(request)

        return self._guarded(request, answer)

    def evidence(self, request: str) -> str:
        """Write down what statistics say of each file, for a PlanRequest; or a PlanFailure."""

        def answer() -> str:
            from tamis.serve.evidence import write_evidence

            return write_evidence(request)

        return self._guarded(request, answer)

    def history(self, request: str) -> str:
        """Write the history down for the shim, for a HistoryRequest; or a PlanFailure."""

        def answer() -> str:
            from tamis.serve.read_history import write_history

            self._recorder.flush()  # what it has been told so far is in it
            return write_history(request)

        return self._guarded(request, answer)

    def _guarded(self, request: str, answer: Callable[[], str]) -> str:
        """What `answer` says, which may import what is broken; or a PlanFailure."""
        try:
            return answer()
        except BaseException as error:  # SystemExit would leave the caller waiting for its deadline
            return _failure(request, error)
        finally:
            self._answered()

    def ping(self) -> str:
        """Answer at once: the process runs."""
        return "pong"

    def record(self, scan: str) -> str:
        """Take a scan that ran, for the history. Answers "", or what is wrong with the history."""
        return self._recorder.take(scan)

    def flush(self) -> str:
        """Write the history as far as it was recorded. Answers as `record`."""
        return self._recorder.flush()

    class Java:
        """How py4j knows the interface."""

        implements = ("io.tamis.bridge.Planner",)


def _failure(request: str, error: BaseException) -> str:
    traceback.print_exc(file=sys.stderr)
    code = "refused" if isinstance(error, TamisError) else "internal_error"
    text = f"{type(error).__name__}: {error}"
    return write_answer(PlanFailure(_id_of(request), Failure(code, text)))


def _id_of(request: str) -> str:
    found = re.search(r'"id"\s*:\s*"([^"]*)"', request)
    return found.group(1) if found else ""
