"""A dozen queries on TPC-H with tamis on and off: `python -m bench.demo`, or `make demo`.

The tables are created once and kept in build/demo. The demo compares the answers and exits with a
nonzero code if one differs.
"""
