"""Rewrite runs: `fix` and `migrate`."""
