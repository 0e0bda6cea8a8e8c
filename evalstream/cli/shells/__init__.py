"""Scripts with which shells complete command lines, made from the data of the commands."""
