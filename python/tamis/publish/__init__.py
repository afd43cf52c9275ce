"""Tables of this machine, offered to other engines. Needs no Spark.

The files of a table come from `tamis.sources`.

tables            a table, which is listed again when its files may have changed
footer_cache      the footers of the files
table_statistics  statistics of the files, from an index or from the footers
column_facts      statistics of one column over the whole table
pruning           the files of a table at one time, and the parts that may match filters
part_reader       the rows of a part
errors            the error of a table that cannot be published or read
airport/          a server for DuckDB's Airport protocol
vgi/              a worker of the VGI protocol
"""
