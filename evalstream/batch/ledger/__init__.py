"""The memory of a batch: runs that were checked before."""
