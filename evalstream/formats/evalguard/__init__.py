"""The format evalguard: tasks, metrics, thresholds and reports."""
