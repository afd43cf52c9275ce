"""A VGI worker: tables of this machine as table functions, for other engines.

    functions   what a table function is
    arguments   the arguments of a call
    tables      the function scan, which reads a published table
    files       the function files, which describes its files
    echo        the function filter_echo, with which clients test their filters
    scan        the batches of one scan
    rows        the rows that pass a filter
    catalog     the catalog: its schema, functions and tables
    calls       bind, plan, init, cardinality and statistics
    reflection  the protocols and methods
    dispatch    from a request to an answer
    refusals    errors, as the protocol reports them
    stdio       requests on standard input
    http        requests over HTTP; cursors of scans

Needs no Spark and no package of VGI.
"""
