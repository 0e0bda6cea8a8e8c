"""The Python API: what Python users get, with every option as a typed keyword."""
