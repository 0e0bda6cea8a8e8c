"""EvalGuard: tasks, metrics, thresholds and reports."""
