"""The systems whose files are checked, one module each."""

from typing import Final

NAMES: Final = ("eee", "infereval", "harpia", "evalguard")
"""The systems by the names of their modules here."""

UNKNOWN: Final = f"not a document of a known format ({', '.join(NAMES)}); --format-name names one"
"""What is said of a document that none of them takes for its own."""
