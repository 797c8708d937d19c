"""The command line, `nlwfa`."""
