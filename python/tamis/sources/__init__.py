"""Where the files of a table come from. Needs no Spark.

file_source    a source, what it lists, and versions of tables
recognition    which kind of table a path is
fields         the columns of a table, and which columns of a file they are
schemas        one schema for files that differ, and whether a file fits
footer_binding the statistics of a file, in the columns of the table
partitions     values that all rows of a file share
directory      the files of a directory, as Spark lists them
delta          the files of a Delta table, by the package deltalake
iceberg        the files of an Iceberg table, by the package pyiceberg
"""
