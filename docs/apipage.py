"""docs/api.md: the public names of the client, from their docstrings.

Rule: nothing stands here that is not in a docstring or a signature.
"""

import inspect
import re
from collections.abc import Iterator
from enum import Enum

import mqclient

SECTION = re.compile(r"^(Args|Returns|Raises|Attributes|Yields):$", re.MULTILINE)


def text_of(thing: object) -> str:
    """Return a docstring as Markdown: its sections as lists, without the notes on sources."""
    doc = inspect.getdoc(thing) or ""
    doc = re.sub(r"\n*^Source: .*\Z", "", doc, flags=re.MULTILINE | re.DOTALL)
    doc = doc.replace("``", "`")
    doc = re.sub(r":(?:class|func|meth|attr):`~?([^`]+)`", r"`\1`", doc)
    parts = SECTION.split(doc)
    lines = [parts[0].strip()]
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        lines += ["", f"{title}:", "", *items(body)]
    return "\n".join(lines)


def items(body: str) -> Iterator[str]:
    """Yield a list item for each line of a section that is indented once."""
    item: list[str] = []
    for line in inspect.cleandoc(body).splitlines():
        if item and not line.startswith(" "):
            yield "- " + " ".join(item)
            item = []
        item.append(line.strip())
    yield "- " + " ".join(item)


def signature_of(thing: object) -> str:
    """Return what stands between the parentheses, without the annotations."""
    found = inspect.signature(thing)  # type: ignore[arg-type]
    bare = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in found.parameters.values()
        if one.name != "self"
    ]
    return str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def members(cls: type) -> Iterator[str]:
    """Yield the public methods and properties of a class that say what they do."""
    for name, found in inspect.getmembers(cls):
        if name.startswith("_") or not inspect.getdoc(found):
            continue
        if isinstance(found, property):
            yield f"**`{name}`**"
        elif inspect.isfunction(found):
            yield f"**`{name}{signature_of(found)}`**"
        else:
            continue
        yield text_of(found)


def api(printed: str) -> str:
    """Return docs/api.md."""
    paragraphs = [
        "# Client API",
        printed.strip(),
        "Everything that `from mqclient import …` offers. Parameters and defaults of the settings"
        " are on a page of [their own](client.md).",
    ]
    for name in sorted(mqclient.__all__):
        thing = getattr(mqclient, name)
        if not inspect.isclass(thing):
            continue
        paragraphs += [f"## {name}", text_of(thing)]
        if issubclass(thing, Enum):
            paragraphs.append(", ".join(f"`{member}`" for member in thing.__members__))
        elif not issubclass(thing, Exception):
            paragraphs += members(thing)
    return "\n\n".join(paragraphs) + "\n"
