"""Samples of compared runs in numpy arrays: stored, reduced, joined, searched for drift."""
