"""Check that every link within a built site leads to a file that is there, and to an anchor within it.

python docs/check_links.py build/docs
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Links(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in ("href", "src"):
                self.targets.append(value)
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)


@cache
def links_of(page: Path) -> Links:
    """Read one page."""
    links = Links()
    links.feed(page.read_text(encoding="utf-8"))
    return links


def broken(site: Path) -> Iterator[str]:
    """Every link that leads nowhere, in words."""
    site = site.resolve()
    for page in sorted(site.rglob("*.html")):
        for target in links_of(page).targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            path = page if not parts.path else page.parent / unquote(parts.path)
            path = path.resolve()
            name = f"{page.relative_to(site)}: {target}"
            if path.is_dir():
                path /= "index.html"
            if not path.is_file():
                yield f"{name} leads to no file"
            elif not path.is_relative_to(site):
                yield f"{name} leads out of the site"
            elif path.suffix == ".html" and parts.fragment:
                anchor = unquote(parts.fragment)
                if anchor not in links_of(path).anchors:
                    yield f"{name} leads to no anchor"


def main(site: Path) -> int:
    """Print what is broken; one if anything is."""
    found = sorted(set(broken(site)))
    pages = len(list(site.rglob("*.html")))
    print("\n".join([*found, f"{pages} pages, {len(found)} broken links"]))
    return int(bool(found) or not pages)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
