"""Benchmarks of evalstream: generators of realistic runs, a measuring runner and budgets."""
