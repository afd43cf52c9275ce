"""How requests arrive: on standard input, or over HTTP."""
