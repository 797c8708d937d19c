"""One-off questions about the library and the lab, each answered by one module."""
