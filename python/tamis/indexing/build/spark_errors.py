"""The message of a Spark error, without the stack trace of the JVM."""

from __future__ import annotations

__all__ = ["causes"]


def causes(problem: BaseException) -> str:
    """Return what failed and the final cause, in one line.

    >>> causes(
    ...     Exception("An error occurred while calling o1.f.\\n: A: no\\n\\tat x\\nCaused by: C: c")
    ... )
    'A: no; C: c'
    >>> causes(KeyError())
    'KeyError'
    """
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    stated = [line for line in lines if not line.startswith(("An error occurred", "at ", "... "))]
    final = [line for line in stated if line.startswith("Caused by: ")]
    # a line between the first and the last cause names the file
    files = [line for line in stated if "reading file" in line]
    chosen = (*stated[:1], *files[:1], *final[-1:])
    text = "; ".join(
        dict.fromkeys(c.removeprefix(": ").removeprefix("Caused by: ") for c in chosen)
    )
    return text or type(problem).__name__
