"""Settings: values of options that a file sets for all commands below its folder."""
