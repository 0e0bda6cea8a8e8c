"""Run the command line as `python -m evalstream`."""

from evalstream.cli import app

if __name__ == "__main__":
    app()
