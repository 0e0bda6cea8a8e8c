"""Signed statements that runs passed their check: written by `attest`, verified by `check`."""
