"""Reports of comparisons: a module for each format."""
