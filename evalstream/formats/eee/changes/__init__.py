"""Changes that `fix` and `migrate` make in rows and aggregates of Every Eval Ever."""
