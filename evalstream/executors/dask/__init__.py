"""Worker processes of a Dask cluster, on this machine or on many."""
