"""Check a line that is being typed before Enter is pressed.

    topic show ordres        no topic `ordres`; did you mean orders?
    topic list --kind nrml   --kind: 'nrml' is not one of normal, retry, ...

Rule: pure and quick. The word at the cursor is not checked before a blank follows it, and a name is
only checked if names are known. This is advice: Enter runs the line in any case.
"""

from difflib import get_close_matches
from typing import Final

import click

from mqadmin.cli import tree
from mqadmin.cli.java.table import native_of
from mqadmin.cli.types import ValueKind
from mqadmin.shell.complete import OWN_WORDS, click_items, spot_of
from mqadmin.shell.names import Names

JUDGED: Final = frozenset({ValueKind.TOPIC, ValueKind.GROUP, ValueKind.BROKER, ValueKind.CLUSTER})
NEAR_MAX: Final = 5_000
"""Largest number of names to search for a similar one; more would delay typing."""


def problem(text: str, names: Names) -> str:
    """Return what is wrong with the finished words of a line; empty for nothing."""
    spot = spot_of(text)
    words = spot.words
    if spot.after_pipe or spot.after_redirect or not words or words[0].lower() in OWN_WORDS:
        return ""
    name, count = tree.find_command([word for word in words if not word.startswith("-")])
    name, count = (name, count) if name else (native_of(words[0]), 1)
    if name is None:
        # The syntax line reports a wrong command name.
        return ""
    makes_new = name.endswith(" create")
    for index in range(count, len(words)):
        said = _judge(words[:index], words[index], names, makes_new=makes_new)
        if said:
            return said
    return ""


def _judge(before: list[str], word: str, names: Names, *, makes_new: bool) -> str:
    if word.startswith("-") and word != "-":
        return ""
    asked: list[ValueKind] = []

    def live(_: click.Context, kind: ValueKind) -> list[str]:
        asked.append(kind)
        return []

    items = [item for item in click_items(before, "", live) if item.choice]
    if items and word.lower() not in {item.value.lower() for item in items}:
        return f"{items[0].what}: {word!r} is not one of {', '.join(item.value for item in items)}"
    if asked and asked[0] in JUDGED and not makes_new:
        return _unknown(word, asked[0], names)
    return ""


def _unknown(word: str, kind: ValueKind, names: Names) -> str:
    names_known = names.of(kind)
    address = kind is ValueKind.BROKER and ":" in word
    if not names.connected or not names_known or word in names_known or address:
        return ""
    near = get_close_matches(word, names_known[:NEAR_MAX], n=1)
    return f"unknown {kind.name.lower()} `{word}`" + (f"; did you mean {near[0]}?" if near else "")
