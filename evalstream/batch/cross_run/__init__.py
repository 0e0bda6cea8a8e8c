"""What runs of one call say of each other."""
