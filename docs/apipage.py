"""docs/api.md: the public names of the client, from their docstrings.

    async def NAME(…)           await it
    async for … in NAME(…)      iterate over it
    async with NAME(…)          enter it
    def NAME(…)                 call it

Rule: nothing stands here that is not in a docstring or a signature. What only this package calls is
left out, although its name has no underscore: ``INTERNAL`` has the names.
"""

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from typing import Final

import mqclient

INTERNAL: Final = frozenset(
    {
        # Members of a client, and what brokers ask of them.
        *("consumer_data", "deliver", "request_handlers", "topics"),
        # Connections and routes, which producers and consumers use.
        *("ask_namesrv", "doubt_route", "forget_route", "invoke", "invoke_oneway", "known_route"),
        *("log_level", "master_of", "members", "name_servers", "note_answer", "open_channel"),
        *("reader_of", "requests", "route", "call", "begin"),
        # Messages and settings on their way to the wire.
        *("as_push", "broker_id", "but", "broadcasting", "derived", "encode", "is_delayed"),
        *("keys_text", "renew_receipt", "to_json", "wire_properties"),
    }
)
"""Names of methods and properties that only this package uses."""
OPTIONAL: Final = ("OpenTelemetryTrace",)
"""Public names that need an extra, so that ``import *`` leaves them out."""

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
        section, after = _without_text_after(body)
        lines += ["", f"{title}:", "", *items(section)]
        if after:
            lines += ["", after]
    return "\n".join(lines)


def _without_text_after(body: str) -> tuple[str, str]:
    """Return the indented lines of a section, and the text that follows them."""
    lines = body.strip("\n").splitlines()
    count = next(
        (index for index, line in enumerate(lines) if line and not line.startswith(" ")), len(lines)
    )
    return "\n".join(lines[:count]), "\n".join(lines[count:]).strip()


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
    text = str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return re.sub(r"PosixPath\(('[^']*')\)", r"\1", text)


def how_to_call(method: object, *, is_blocking: bool) -> str:
    """Return the words that stand before the name of a method.

    Args:
        method: a method of a class.
        is_blocking: True for a class that needs no ``await``.
    """
    before = "" if is_blocking else "async "
    within = inspect.unwrap(method)  # type: ignore[arg-type]
    for each, words in ((method, "for … in"), (within, "with")):
        if inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each):
            return before + words
    return before + "def" if inspect.iscoroutinefunction(method) else "def"


def members(cls: type) -> Iterator[str]:
    """Yield the public methods and properties of a class that say what they do."""
    for name, found in inspect.getmembers(cls):
        if name.startswith("_") or name in INTERNAL or not inspect.getdoc(found):
            continue
        if isinstance(found, property):
            yield f"**`{name}`**"
        elif inspect.isfunction(found):
            words = how_to_call(found, is_blocking=cls.__name__.startswith("Blocking"))
            yield f"**`{words} {name}{signature_of(found)}`**"
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
    for name in sorted((*mqclient.__all__, *OPTIONAL)):
        thing = getattr(mqclient, name)
        if inspect.isfunction(thing):
            paragraphs += [f"## {name}", f"**`def {name}{signature_of(thing)}`**", text_of(thing)]
            continue
        if not inspect.isclass(thing):
            continue
        paragraphs += [f"## {name}", text_of(thing)]
        if issubclass(thing, Enum):
            paragraphs.append(", ".join(f"`{member}`" for member in thing.__members__))
        elif not issubclass(thing, Exception):
            paragraphs += members(thing)
    return "\n\n".join(paragraphs) + "\n"
