"""Many runs in one call: planned, packed, scheduled, and their results in order."""
