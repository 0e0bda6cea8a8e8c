"""The format harpia: input, output and log of an evaluation of HarpIA Lab."""
