"""Collects the pages of the site from the tree: ``python docs/site.py DIRECTORY``; see mkdocs.yml.

    README.md, CONTRIBUTING.md …   -> index.md, contributing.md …
    docs/                          -> the same paths
    a link to another page         -> to its place on the site
    a link to a source file        -> the name of the file

Rule: it needs nothing but the standard library, and changes nothing of a page but its links.
"""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parent.parent
MOVED: Final = {
    "README.md": "index.md",
    "README.zh-CN.md": "zh/index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
LINK: Final = re.compile(
    r"(?P<image>!?)\[(?P<text>[^]]*)\]\((?!https?:|#)(?P<to>[^)#\s]+)(?P<anchor>#[^)]*)?\)"
)


def pages() -> dict[Path, Path]:
    """Return every file of the site: where it is in the tree, and its place on the site."""
    docs = REPOSITORY / "docs"
    made = {REPOSITORY / name: Path(place) for name, place in MOVED.items()}
    for path in sorted(docs.rglob("*")):
        if path.suffix in (".md", ".svg", ".cast"):
            made[path] = path.relative_to(docs)
    return made


def with_links(source: Path, places: dict[Path, Path]) -> str:
    """Return a page whose links lead to where their targets are on the site."""
    here = places[source].parent

    def moved(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(source.parent / link["to"]))
        if target in places:
            way = os.path.relpath(places[target], here)
            return f"{link['image']}[{link['text']}]({way}{link['anchor'] or ''})"
        name = str(target.relative_to(REPOSITORY))
        text = link["text"]
        return text if text.strip("`/").endswith(target.name) else f"{text} (`{name}`)"

    return LINK.sub(moved, source.read_text())


def main() -> int:
    """Write the pages into a directory, and remove what was there."""
    directory = Path(sys.argv[1])
    shutil.rmtree(directory, ignore_errors=True)
    places = pages()
    for source, place in places.items():
        target = directory / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(with_links(source, places))
        else:
            shutil.copyfile(source, target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
