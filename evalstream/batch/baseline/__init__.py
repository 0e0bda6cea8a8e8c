"""Baselines: findings that are known and do not fail a check."""
