"""Measures many runs that are checked in one call."""
