"""Statistics of paired scores: pure functions and small accumulators, without other libraries."""
