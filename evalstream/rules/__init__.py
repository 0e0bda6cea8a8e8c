"""The rules that all formats share, the catalogue and the profiles."""
