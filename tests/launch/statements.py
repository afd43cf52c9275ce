"""A Spark in a process of its own, which runs statements with tamis on and off.

A session gets jars, extensions and file systems when it starts, so tests of these cannot use the
session of the other tests.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.launch.processes import Running, running

__all__ = ["OFF", "Answer", "Statements", "confs_of_small_queries", "started"]

_APP = Path(__file__).parent / "statement_app.py"
_ANSWER = "ANSWER "
OFF = {"spark.tamis.enabled": "false"}


@dataclass(frozen=True)
class Answer:
    """The answer to a statement or a command.

    Attributes:
        rows: The rows, as a bag.
        scans: The decisions of tamis.
        warnings: The warnings of tamis since the last answer.
        text: The result of the command.
        value: The result of the function.
        plan: The formatted plan, if details were requested; so, too, what follows.
        files_read: The number of files that the scans read; None if they do not report it.
        partitions_fetched: How many partitions the metastore returned.
    """

    rows: list[str] = field(default_factory=list)
    scans: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    text: str = ""
    value: Any = None
    plan: str = ""
    files_read: int | None = None
    partitions_fetched: int = 0

    @property
    def kept(self) -> list[int]:
        """The number of files that each scan keeps."""
        assert [scan["fallback"] for scan in self.scans] == [None] * len(self.scans)
        return [scan["files_kept"] for scan in self.scans]

    @property
    def pushed_filters(self) -> str:
        """The filters that the scan received."""
        (line,) = [
            line
            for line in self.plan.splitlines()
            if line.startswith(("PushedFilters: ", "IcebergScan("))
        ]
        return line


class Statements:
    """A running Spark with tamis."""

    def __init__(self, process: Running) -> None:
        self._process = process
        self._log = process.log.open(encoding="utf-8", errors="replace")

    def sql(self, statement: str, **confs: str) -> Answer:
        """Return the answer to a statement, which is run with these confs."""
        return self.run({"sql": statement, "confs": confs})

    def index(
        self, method: str, table: str, confs: dict[str, str] | None = None, **arguments: object
    ) -> Answer:
        """Call a method of the index of a table."""
        line = {"index": method, "table": table, "arguments": arguments, "confs": confs or {}}
        return self.run(line)

    def function(self, name: str, **arguments: object) -> Any:
        """Call a function, as MODULE:NAME, with a new session. Return its result as JSON."""
        return self.run({"function": name, "arguments": arguments, "confs": {}}).value

    def text_of(self, function: str, *arguments: object, **confs: str) -> str:
        """Call a function, as MODULE:NAME, with the session. Return its result as text."""
        return self.run({"text_of": function, "arguments": arguments, "confs": confs}).text

    def same(self, query: str, **confs: str) -> Answer:
        """Return the answer with tamis on. Its rows must equal those with tamis off."""
        off = self.sql(query, **confs, **OFF)
        on = self.sql(query, **confs)
        assert on.rows == off.rows, query
        return on

    def run(self, line: dict[str, Any]) -> Answer:
        """Run a line of `statement_app.py`."""
        assert self._process.process.stdin is not None
        self._process.process.stdin.write((json.dumps(line) + "\n").encode())
        self._process.process.stdin.flush()
        while (answer := self._next_answer()) is None:
            time.sleep(0.01)
        result: dict[str, Any] = json.loads(answer)
        assert "error" not in result, f"{line}\n{result['error']}"
        return Answer(**result)

    def _next_answer(self) -> str | None:
        """Return the next answer in the output of the process; None if there is none yet."""
        assert self._process.process.poll() is None, self._process.output()
        while (start := self._log.tell()) is not None:
            line = self._log.readline()
            if not line.endswith("\n"):
                self._log.seek(start)
                return None
            if line.startswith(_ANSWER):
                return line.removeprefix(_ANSWER)
        return None


def confs_of_small_queries(directory: Path) -> dict[str, str]:
    """Return confs of a session in this directory, whose tables are small and queries many."""
    return {
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",  # threads for each small file
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.cache.maxEntries": "3000",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # compiling takes longer than a few rows
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.ui.explainMode": "simple",  # each execution writes its plan
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.tamis.cache.location": str(directory / "cache"),
    }


@contextmanager
def started(
    directory: Path, confs: Mapping[str, str], environment: Mapping[str, str]
) -> Iterator[Running]:
    """Start the process, with the confs of its session. It ends with the block.

    Args:
        directory: Its working directory.
        confs: The confs of the session.
        environment: The environment, see `shell`.
    """
    command = [sys.executable, str(_APP), json.dumps(confs)]
    with running(command, directory, environment, "statements") as process:
        process.wait_for("READY\n")
        yield process
        assert process.process.stdin is not None
        process.process.stdin.close()
        process.process.wait(60)
