"""The rules of the format infereval."""
