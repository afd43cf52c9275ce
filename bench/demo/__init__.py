"""A dozen queries on TPC-H with tamis on and off: `python -m bench.demo`, or `make demo`.

Five queries also run over the same files as an Iceberg and a Delta table. The tables are created
once and kept in build/demo. The demo compares the answers and exits with a nonzero code if one
differs.
"""
