"""The version of the package, the one place where it is written."""

__version__ = "0.1.0"
