"""The rules of infereval."""
