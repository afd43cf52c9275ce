"""The sidecar: a process of the driver's machine that plans for the shim over py4j.

Started by the shim as `python -m tamis.serve`; nobody starts it by hand.
"""
