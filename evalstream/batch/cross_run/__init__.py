"""Comparison of the runs of one call with each other."""
