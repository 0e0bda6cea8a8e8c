"""The rules of Every Eval Ever."""
