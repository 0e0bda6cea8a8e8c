"""Run reports, logs and predictions of SWE-bench, and submissions."""
