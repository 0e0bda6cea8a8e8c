"""The rules about logs of Inspect."""
