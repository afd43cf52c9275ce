"""A dozen queries on TPC-H with tamis on and off: `python -m bench.demo`, or `make demo`.

The tables are made once and kept in build/demo; the answers are compared, and the exit code is not
zero when one differs.
"""
