"""The engine: open rows, check them block by block, collect findings and route rows."""
