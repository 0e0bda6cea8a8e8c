"""All reference pages by their path in the documentation."""

from reference import command_line, comparison, formats, gates, python_api, report, rules, settings

FOLDER = "reference"


def pages() -> dict[str, str]:
    """Return the Markdown text of every reference page by its path below `docs/`."""
    texts = {
        "command-line.md": command_line.page(),
        "python.md": python_api.page(),
        "report.md": report.page(),
        "comparison.md": comparison.page(),
        "settings.md": settings.page(),
        "formats.md": formats.page(),
        "gates.md": gates.page(),
        **{f"rules/{path}": text for path, text in rules.pages().items()},
    }
    return {f"{FOLDER}/{path}": text for path, text in texts.items()}
