"""The public store: verify it, compare two states of it, and admit changes to it."""
