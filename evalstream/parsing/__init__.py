"""Texts in and out: JSON, JSON Schema, YAML, and the scanner."""
