"""One page for people to share: verdicts, what was verified, findings by rule, and pictures.

The page is one file of at most 2 MB. It loads nothing, runs no script, and prints. The same
inputs and options give the same bytes.
"""

from evalstream.reporters.html.reporter import HtmlReporter

__all__ = ["HtmlReporter"]
