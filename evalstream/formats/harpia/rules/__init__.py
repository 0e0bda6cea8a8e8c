"""The rules of the format harpia (HarpIA Lab)."""
