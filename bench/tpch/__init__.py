"""The queries of TPC-H with tamis on and off: answers, files that are opened, time."""
