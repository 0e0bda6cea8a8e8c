"""How many tests may be skipped in continuous integration."""

from paths import SHARED

MOST_SKIPPED = 200 if SHARED.is_dir() else 450
"""Most of them need the harnesses, the library of one, or upstream's validator, all installed by
hand (120 tests), or the corpus beside the checkout (150)."""
