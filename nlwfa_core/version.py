"""Define the version of the library and the lab."""

__version__ = "0.1.0"
