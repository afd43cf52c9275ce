"""DuckDB's Airport protocol: tables over Arrow Flight.

messages     the bodies of actions and answers, in msgpack
connection   a Flight client with the token, and errors that name the server
catalog      the tables that a server lists
filters      the filters that are sent
flight_task  reading one endpoint, on executors
source       a table as a remote source
"""
