"""What a batch remembers of runs that were checked before."""
