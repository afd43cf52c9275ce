"""A server for DuckDB's Airport protocol, over Arrow Flight.

messages           the bodies of requests and answers
tickets            what a client returns to read a part of a table, signed
transactions       one listing of each table for all requests of a transaction
catalog            the tables, as clients list them
endpoints          the parts of a scan
locations          files that clients read themselves
column_statistics  statistics of a column
access             the token and the TLS files, and the headers of calls
refusals           failures as errors of Flight
server             the Flight server
serve_command      `python -m tamis serve-airport`
"""
