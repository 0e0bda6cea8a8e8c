"""Every Eval Ever: rows and their aggregate."""
