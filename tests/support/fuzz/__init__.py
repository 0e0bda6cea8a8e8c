"""Differential fuzzing of the row layer: the fast path and the exact path agree on every block."""
