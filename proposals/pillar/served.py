"""The generation that is served, read back: its files of single minions."""

from collections.abc import Mapping

from proposals.files import atomic, documents
from proposals.files.site import MINIONS, Site

FOLDERS = ("cluster", MINIONS)


def texts(site: Site) -> dict[str, str]:
    """Return the text of each file that says what one minion is and is told, by target path. Raises StoreError."""
    return {
        f"{folder}/{path.name}": atomic.read_text(path)
        for folder in FOLDERS
        for path in sorted((site.current / folder).iterdir())
    }


def contents(site: Site) -> dict[str, Mapping]:
    """Return the content of each of these files. Raises StoreError, also where one is broken."""
    return {path: documents.parse_yaml(text, str(site.current / path)) for path, text in texts(site).items()}
