"""Tables of this machine, offered to other engines. Needs no Spark.

tables      a table: its schema, the parts that may match filters, statistics, rows
listing     the files of a directory
partitions  the values in the names of Hive directories
schemas     one schema for files that differ
footers     what the footers of the files say
statistics  statistics of files and columns
reading     the rows of a part
airport/    a server for DuckDB's Airport protocol
vgi/        a worker of the VGI protocol
"""
