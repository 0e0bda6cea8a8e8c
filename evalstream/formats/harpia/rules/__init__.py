"""The rules of HarpIA Lab."""
