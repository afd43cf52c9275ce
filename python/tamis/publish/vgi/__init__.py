"""A VGI worker: tables of this machine as table functions, for other engines.

    catalog            the catalog: its schema, functions and tables
    rows               the rows that pass a filter
    refusals           errors, as the protocol reports them
    serve_command      `python -m tamis serve-vgi`

`functions`: table functions:

    table_function     the interface of a table function
    arguments          the arguments of a call
    scan_function      the function scan, which reads a published table
    part_tokens        the tokens of its splits
    files_function     the function files, which describes its files
    echo_function      the function filter_echo, with which clients test their filters
    column_statistics  statistics of columns, in the form of the protocol

`requests`: from a request to its answer:

    dispatch           from a request to an answer
    function_calls     bind, plan, init, cardinality and statistics
    reflection         the protocols and methods
    scan_batches       the batches of one scan

`transports`: how requests arrive:

    stdio              requests on standard input
    http               requests over HTTP
    bodies             the bodies of HTTP requests: length and compression
    cursors            the scans in progress over HTTP
    tokens             the bearer tokens of callers

Needs no Spark and no package of VGI.
"""
