"""Measures rows that come in any other way than from a plain file."""
