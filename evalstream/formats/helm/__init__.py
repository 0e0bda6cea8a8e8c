"""Runs of HELM: statistics, their instances, and the requests behind them."""
