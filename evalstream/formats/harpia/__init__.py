"""HarpIA Lab: input, output and log of an evaluation."""
