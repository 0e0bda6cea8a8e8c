"""The formats whose files are checked, a folder each."""
