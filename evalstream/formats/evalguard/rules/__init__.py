"""The rules of the format evalguard."""
