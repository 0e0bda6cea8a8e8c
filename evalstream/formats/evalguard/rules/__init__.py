"""The rules of EvalGuard."""
