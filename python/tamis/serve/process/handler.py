"""The interface that the shim calls. It never raises: a failure is returned as a document."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable

from tamis.errors import TamisError
from tamis.serve.history.recorder import Recorder
from tamis.wire.messages import Failure, PlanFailure, write_answer


class Handler:
    """Implements io.tamis.bridge.Planner. All arguments and results are strings.

    Args:
        answered: Called after each question.
        recorder: Records scans that ran.
    """

    def __init__(
        self, answered: Callable[[], None] = lambda: None, recorder: Recorder | None = None
    ) -> None:
        self._answered = answered
        self._recorder = recorder or Recorder()

    def plan(self, request: str) -> str:
        """Answer a PlanRequest. With a PlanFailure, the shim keeps every file and filter."""

        def answer() -> str:
            from tamis.serve.planning import plan

            return plan(request)

        return self._guarded(request, answer)

    def plans(self, request: str) -> str:
        """Answer a PlansRequest. With a PlanFailure, the shim asks each question by itself."""

        def answer() -> str:
            from tamis.serve.planning import plan_all

            return plan_all(request, self.plan)

        return self._guarded(request, answer)

    def imply(self, request: str) -> str:
        """Answer an ImpliedRequest. With a PlanFailure, the shim adds no filter."""

        def answer() -> str:
            from tamis.serve.scans.implied_ranges import imply

            return imply(request)

        return self._guarded(request, answer)

    def written(self, request: str) -> str:
        """Answer a WrittenFilesRequest. With a PlanFailure, queries index the files."""

        def answer() -> str:
            from tamis.serve.automatic_indexes import index_written

            return index_written(request)

        return self._guarded(request, answer)

    def openIndexes(self, request: str) -> str:  # noqa: N802, the name in Java
        """Answer an OpenIndexesRequest. With a PlanFailure, questions open the indexes."""

        def answer() -> str:
            from tamis.serve.open_indexes import open_indexes

            return open_indexes(request)

        return self._guarded(request, answer)

    def waiting(self, request: str) -> str:
        """Answer a WaitingFilesRequest. With a PlanFailure, the number of files is unknown."""

        def answer() -> str:
            from tamis.serve.automatic_indexes import count_waiting

            return count_waiting(request)

        return self._guarded(request, answer)

    def evidence(self, request: str) -> str:
        """Write the evidence of each file for a PlanRequest, or answer with a PlanFailure."""

        def answer() -> str:
            from tamis.serve.detail.evidence import write_evidence

            return write_evidence(request)

        return self._guarded(request, answer)

    def history(self, request: str) -> str:
        """Write the history for a HistoryRequest of the shim, or answer with a PlanFailure."""

        def answer() -> str:
            from tamis.serve.history.read_history import write_history

            self._recorder.flush()  # the history includes all scans received so far
            return write_history(request)

        return self._guarded(request, answer)

    def icebergFiles(self, request: str) -> str:  # noqa: N802, the name in Java
        """Answer an IcebergFilesRequest. With a PlanFailure, Iceberg plans the scan itself."""

        def answer() -> str:
            from tamis.serve.iceberg_files import write_iceberg_files

            return write_iceberg_files(request)

        return self._guarded(request, answer)

    def remote(self, request: str) -> str:
        """Answer a RemoteRequest. With a PlanFailure, the shim treats the source as unknown."""

        def answer() -> str:
            from tamis.serve.remote import answer_remote

            return answer_remote(request)

        return self._guarded(request, answer)

    def remoteTasks(self, request: str) -> str:  # noqa: N802, the name in Java
        """Answer a RemoteTasksRequest. With a PlanFailure, the shim starts a process to answer."""

        def answer() -> str:
            from tamis.serve.remote import answer_remote_tasks

            return answer_remote_tasks(request)

        return self._guarded(request, answer)

    def learn(self, request: str) -> str:
        """Answer a LearntRequest. With a PlanFailure, nothing is remembered of it."""

        def answer() -> str:
            from tamis.serve.remembered import learn

            return learn(request)

        return self._guarded(request, answer)

    def remembered(self, request: str) -> str:
        """Write what is remembered for a RememberedRequest, or answer with a PlanFailure."""

        def answer() -> str:
            from tamis.serve.remembered import write_remembered

            return write_remembered(request)

        return self._guarded(request, answer)

    def _guarded(self, request: str, answer: Callable[[], str]) -> str:
        """Return the result of `answer`; a PlanFailure if it fails, also if its imports fail."""
        try:
            return answer()
        except BaseException as error:  # SystemExit would leave the caller waiting for its deadline
            return _failure(request, error)
        finally:
            self._answered()

    def ping(self) -> str:
        """Answer immediately, which shows that the process is alive."""
        return "pong"

    def record(self, scan: str) -> str:
        """Record a scan that ran in the history. Return "", or the problem with the history."""
        return self._recorder.take(scan)

    def flush(self) -> str:
        """Write all recorded scans to the history. Return "", or the problem with the history."""
        return self._recorder.flush()

    class Java:
        """The interfaces that this class implements, for py4j."""

        implements = ("io.tamis.bridge.Planner",)


def _failure(request: str, error: BaseException) -> str:
    traceback.print_exc(file=sys.stderr)
    code = "refused" if isinstance(error, TamisError) else "internal_error"
    text = f"{type(error).__name__}: {error}"
    return write_answer(PlanFailure(_id_of(request), Failure(code, text)))


def _id_of(request: str) -> str:
    match = re.search(r'"id"\s*:\s*"([^"]*)"', request)
    return match.group(1) if match else ""
