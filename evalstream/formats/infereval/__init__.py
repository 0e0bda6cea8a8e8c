"""The format infereval: evaluations and their benchmarks."""
