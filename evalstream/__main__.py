"""Run the command line as `python -m evalstream`."""

from evalstream.cli import main

if __name__ == "__main__":
    main()
