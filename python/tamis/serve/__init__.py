"""The sidecar: a process on the driver's machine that plans for the shim over py4j.

The shim starts it as `python -m tamis.serve`. Users do not start it.

process/  the lifecycle of the process, and the interface that the shim calls
planning  answers to questions about scans
remote    answers about remote tables
detail/   details for explanations
goals/    answers to goals
history/  recording of scans in the history
scans/    what all answers about a scan share
"""
