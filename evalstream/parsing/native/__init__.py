"""The accepting pass over usual rows, in C: compiled where evalstream is installed."""
