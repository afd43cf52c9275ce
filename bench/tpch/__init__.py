"""The queries of TPC-H with tamis on and off: answers, opened files, time."""
