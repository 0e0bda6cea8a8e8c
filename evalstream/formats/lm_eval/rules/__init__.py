"""The rules of lm-eval's logs."""
