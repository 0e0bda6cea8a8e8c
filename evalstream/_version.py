"""The version of the package and its address, the one place where they are written."""

__version__ = "0.2.0"
REPOSITORY_URL = "https://github.com/OWNER/REPOSITORY"
