"""Commands that run in this process, with the Spark session of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamis.indexing.build import jobs

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

__all__ = ["use_session"]


class UnstoppableSession:
    """The session of the tests, whose stop() has no effect."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def __getattr__(self, name: str) -> Any:
        return (lambda: None) if name == "stop" else getattr(self._spark, name)


def use_session(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> dict[str, str]:
    """Let commands use this session. Return a dictionary to which they add their confs."""
    confs_of_session: dict[str, str] = {}

    def own_session(confs: dict[str, str]) -> UnstoppableSession:
        confs_of_session.update(confs)
        return UnstoppableSession(spark)

    monkeypatch.setattr(jobs, "own_session", own_session)
    return confs_of_session
