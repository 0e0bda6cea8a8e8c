"""Statistics of paired scores over numpy arrays: formulas, and accumulators of bounded memory."""
