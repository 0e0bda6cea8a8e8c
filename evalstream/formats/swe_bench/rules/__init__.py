"""The rules of SWE-bench."""
