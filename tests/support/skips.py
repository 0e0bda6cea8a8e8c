"""How many tests may be skipped in continuous integration."""

from paths import SHARED

MOST_SKIPPED = 270 if SHARED.is_dir() else 460
"""Most of them need the harnesses (195) or upstream's validator (29), which are installed by hand,
or the corpus beside the checkout (170)."""
