"""The rules of HELM."""
