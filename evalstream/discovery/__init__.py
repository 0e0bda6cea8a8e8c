"""Find the runs to check among files, folders, patterns and stores."""
