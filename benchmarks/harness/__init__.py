"""Measures commands, judges what they found, and lays the numbers out."""
