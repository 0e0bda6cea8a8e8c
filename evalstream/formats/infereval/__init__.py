"""infereval: evaluations and the benchmarks they are of."""
