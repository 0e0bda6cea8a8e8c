"""Logs of the lm-evaluation-harness: the samples of a task, and the results of a call."""
