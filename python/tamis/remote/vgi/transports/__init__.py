"""Connections to workers: a process or a server. Used on the driver and on executors."""
