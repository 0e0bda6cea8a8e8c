"""Who runs the tasks: this process, worker processes, or a Dask cluster."""
