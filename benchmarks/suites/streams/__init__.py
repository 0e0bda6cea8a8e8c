"""Measures rows that come any other way than from a plain file."""
