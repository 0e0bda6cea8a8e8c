"""Compare runs sample by sample: check, align, estimate, judge."""
