"""Collects the pages of the site from the tree: ``python docs/site.py DIRECTORY``; see mkdocs.yml.

    README.md, CONTRIBUTING.md …   -> index.md, contributing.md …
    docs/                          -> the same paths
    a link to another page         -> to its place on the site
    the bare name of a page        -> a link to it
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
LINK: Final = (
    r"(?P<image>!?)\[(?P<text>[^]]*)\]\((?!https?:|#)(?P<to>[^)#\s]+)(?P<anchor>#[^)]*)?\)"
)
NAME: Final = r"(?<![\w/.(-])(?P<page>(?:[\w.-]+/)*[\w.-]+\.md)(?![\w/)-])"
PARTS: Final = re.compile(
    rf"(?P<fence>^```.*?^```)|{LINK}|(?P<other>\[[^]]*\]\([^)]*\))|`{NAME.replace('page', 'code')}`"
    rf"|(?P<span>`[^`\n]*`)|{NAME}",
    re.MULTILINE | re.DOTALL,
)
"""What may be a link, or keeps the name of a page in it from being one."""


def pages() -> dict[Path, Path]:
    """Return every file of the site: where it is in the tree, and its place on the site."""
    docs = REPOSITORY / "docs"
    made = {REPOSITORY / name: Path(place) for name, place in MOVED.items()}
    for path in sorted(docs.rglob("*")):
        if path.suffix in (".md", ".svg", ".cast", ".css"):
            made[path] = path.relative_to(docs)
    return made


def linked_text(text: str, source: Path, places: dict[Path, Path]) -> str:
    """Return the text of a page; its links lead to where their targets are on the site."""
    here = places[source].parent

    def moved(link: re.Match[str]) -> str:
        named = link["page"] or link["code"]
        if named:
            return linked(named) or link[0]
        if not link["to"]:
            return link[0]
        target = Path(os.path.normpath(source.parent / link["to"]))
        if target in places:
            way = os.path.relpath(places[target], here)
            return f"{link['image']}[{link['text']}]({way}{link['anchor'] or ''})"
        name = str(target.relative_to(REPOSITORY))
        text = link["text"]
        return text if text.strip("`/").endswith(target.name) else f"{text} (`{name}`)"

    def linked(name: str) -> str | None:
        """Return the link to a page by its name: from the root of the tree, or from its folder."""
        for base in (REPOSITORY, source.parent):
            target = Path(os.path.normpath(base / name))
            if target in places and target != source:
                return f"[{name}]({os.path.relpath(places[target], here)})"
        return None

    return PARTS.sub(moved, text)


def main() -> int:
    """Write the pages into a directory, and remove what was there."""
    directory = Path(sys.argv[1])
    shutil.rmtree(directory, ignore_errors=True)
    places = pages()
    for source, place in places.items():
        target = directory / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(linked_text(source.read_text(), source, places))
        else:
            shutil.copyfile(source, target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
