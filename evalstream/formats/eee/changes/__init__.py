"""What `fix` and `migrate` change in rows and aggregates of Every Eval Ever."""
