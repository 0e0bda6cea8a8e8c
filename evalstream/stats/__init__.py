"""What rows amount to: counts, score sums, duplicates, links between runs."""
