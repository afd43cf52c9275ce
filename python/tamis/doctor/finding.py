"""The result of one check of an installation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

__all__ = ["Finding", "Status", "failed", "ok", "skipped"]


class Status(StrEnum):
    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"  # not requested, or a check that it depends on failed


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of output. Every failed finding has a `fix`, which says what to do.

    >>> failed("java", "there is no java", "install Java 17").to_dict()
    {'check': 'java', 'status': 'failed', 'text': 'there is no java', 'fix': 'install Java 17'}
    """

    check: str
    status: Status
    text: str
    fix: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        return asdict(self) | {"status": str(self.status)}


def ok(check: str, text: str) -> Finding:
    return Finding(check, Status.OK, text)


def failed(check: str, text: str, fix: str) -> Finding:
    return Finding(check, Status.FAILED, text, fix)


def skipped(check: str, text: str) -> Finding:
    return Finding(check, Status.SKIPPED, text)
