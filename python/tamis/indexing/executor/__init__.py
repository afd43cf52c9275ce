"""The code that executors run to read footers (pyarrow only, enforced by the linter)."""
