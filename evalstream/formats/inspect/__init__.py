"""The format inspect: logs of the harness Inspect (inspect_ai)."""
