"""The rules, one module per layer of the catalogue."""
