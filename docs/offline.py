"""Finds what the site's pages would request from other machines: the site must work offline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

FETCHED = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src", "srcset"),
    "input": ("src",),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "track": ("src",),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
"""Elements for which a browser fetches something, and the attributes with the addresses."""
POINTING = {"author", "canonical", "help", "license", "next", "prev", "search", "index"}
"""Kinds of <link> that fetch nothing."""
STYLED = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
ELSEWHERE = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)


class _Fetches(HTMLParser):
    """Collects what a page fetches."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._styled = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._styled = tag == "style"
        self.found += _styles(given.get("style", ""))
        if tag == "link" and POINTING & set(given.get("rel", "").lower().split()):
            return
        self.found += [given[name] for name in FETCHED.get(tag, ()) if name in given]

    def handle_data(self, data: str) -> None:
        if self._styled:
            self.found += _styles(data)


def _styles(text: str) -> list[str]:
    return [first or second for first, second in STYLED.findall(text)]


def outside(site: Path) -> Iterator[tuple[Path, str]]:
    """Yield what files of a site fetch from elsewhere.

    Parameters
    ----------
    site
        The directory of the built pages.

    Yields
    ------
    tuple[Path, str]
        A page or a style sheet, and the address.
    """
    for file in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".css":
            fetched = _styles(text)
        else:
            parser = _Fetches()
            parser.feed(text)
            fetched = parser.found
        yield from ((file, address) for address in fetched if ELSEWHERE.match(address))


def warn_of_outside(app: Sphinx, error: Exception | None) -> None:
    """Warn of each foreign address from which the site fetches something."""
    if error is None and app.builder.format == "html":
        for file, address in outside(Path(app.outdir)):
            logging.getLogger(__name__).warning(
                "%s fetches %s: the site must be whole without a network",
                file.relative_to(app.outdir),
                address,
            )
