"""The sidecar: a process on the driver's machine that plans for the shim over py4j.

The shim starts it as `python -m tamis.serve`. Users do not start it.
"""
