"""A VGI worker: tables of this machine as table functions, for other engines.

    functions      the interface of a table function
    arguments      the arguments of a call
    tables         the function scan, which reads a published table
    part_tokens    the tokens of its splits
    files          the function files, which describes its files
    echo           the function filter_echo, with which clients test their filters
    scan           the batches of one scan
    rows           the rows that pass a filter
    statistics     statistics of columns, in the form of the protocol
    catalog        the catalog: its schema, functions and tables
    calls          bind, plan, init, cardinality and statistics
    reflection     the protocols and methods
    dispatch       from a request to an answer
    refusals       errors, as the protocol reports them
    stdio          requests on standard input
    http           requests over HTTP
    bodies         the bodies of HTTP requests: length and compression
    cursors        the scans in progress over HTTP
    tokens         the bearer tokens of callers
    serve_command  `python -m tamis serve-vgi`

Needs no Spark and no package of VGI.
"""
