"""How many tests may be skipped in continuous integration."""

from paths import SHARED

MOST_SKIPPED = 340 if SHARED.is_dir() else 600
"""Most of them need the harnesses (195), the library of one (45) or upstream's validator (29), all
installed by hand, or the corpus beside the checkout (170)."""
