"""The systems whose files are checked, one module each."""
