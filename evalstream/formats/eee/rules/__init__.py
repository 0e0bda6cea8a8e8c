"""The rules of the format eee (Every Eval Ever)."""
