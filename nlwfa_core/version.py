"""The version of the library and the lab, in one place."""

__version__ = "0.1.0"
