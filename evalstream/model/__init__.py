"""The data that flows between the layers, and nothing else."""
