"""How a report looks: each reporter takes findings one by one, then the outcome."""
