"""Writes deterministic, realistic runs: rows, text, aggregates and faults."""
