"""Samples of compared runs: sorted by their identity, reduced, joined, and searched for drift."""
