"""Tables of this machine, offered to other engines. Needs no Spark.

The files of a table come from `tamis.sources`.

tables      a table, which is listed again when its files may have changed
footers     the footers of the files
statistics  statistics of the files, from an index or from the footers
columns     statistics of one column over the whole table
pruning     the files of a table at one time, and the parts that may match filters
reading     the rows of a part
errors      the error of a table that cannot be published or read
airport/    a server for DuckDB's Airport protocol
vgi/        a worker of the VGI protocol
"""
