"""The messages of VGI: framing, records and methods, shared by clients and workers."""
