"""The suites: what is measured, one command each."""
