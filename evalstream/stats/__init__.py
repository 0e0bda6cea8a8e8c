"""Totals of rows: counts, score sums, duplicates, links between runs."""
