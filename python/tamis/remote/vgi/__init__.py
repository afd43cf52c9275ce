"""The VGI protocol: table functions and catalog tables of workers.

`protocol`: the messages, shared by clients and workers:

    framing            streams of Arrow IPC, and the metadata of their batches
    record             writing and reading records
    records            the records of requests and answers
    methods            the parameters and results of the methods

`transports`: connections, on the driver and on executors:

    location           a command, or the URL of a server
    connection         calls and scans, independent of the transport
    pipe_connection    a process that is started for the connection
    http_connection    a server

On the driver:

    client             calls with errors that name the worker, and the version of the protocol
    catalog            the functions and tables that a worker lists
    source             a function or a table as a remote source

`filters`: the filters of a query, on the driver:

    typed_constants    constants in the types of columns
    filter_document    filters as they are sent
    sendable_filters   which filters are sent, and which of them Spark need not apply again

`functions`: table functions:

    arguments          arguments in the types that a function declares
    call               a bound function
    function_scan      the tasks of a function
    splits             the parts that a worker plans
    scan_task          reading a part of a function's rows, on executors
    column_statistics  bounds of columns

`tables`: tables of catalogs:

    branches           the parts of a table
    branch_paths       the files that a path with wildcards stands for
    branch_filter      the filters of parts, which tamis.wire.duckdb.sql_predicate reads
    lake_files         the files of a part that is a Delta or Iceberg table
    table_scan         the tasks of a table
    branch_task        reading a part of a table, on executors
    lake_task          reading a file of a Delta or Iceberg table, on executors
    row_filter         filters of branches, applied to rows or checked, on executors

`executor_modules` lists all that tasks need on executors.
"""
