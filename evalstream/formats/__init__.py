"""The systems whose files are checked, one module each."""

from typing import Final

NAMES: Final = ("eee", "infereval", "harpia", "evalguard")
"""The systems by the names of their modules here."""
