"""DuckDB's Airport protocol: tables over Arrow Flight.

messages           the bodies of actions and answers, in msgpack
connection         a Flight client with the token, and errors that name the server
catalog            the tables that a server lists
sendable_filters   the filters that are sent
endpoints          the parts of a table, and the filters that a server has applied exactly
file_locations     endpoints that refer to Parquet files
column_statistics  bounds of columns
flight_task        reading endpoints, on executors
combined_tasks     tasks that read several endpoints
source             a table as a remote source
"""
