"""Whether a line that is being typed could run, told before Enter.

    topic show ordres        no topic `ordres`; did you mean orders?
    topic list --kind nrml   --kind: 'nrml' is none of normal, retry, ...

Rule: pure and quick; the word at the cursor is not judged before a blank follows it, and a name
is judged only where names are known. It is advice: Enter runs the line whatever this says.
"""

from difflib import get_close_matches
from typing import Final

from mqadmin.catalog import Found, find
from mqadmin.errors import Usage
from mqadmin.parameters import Kind, Parameter
from mqadmin.shell.complete import OWN_WORDS, spot_of, value_at
from mqadmin.shell.names import Names

JUDGED: Final = frozenset({Kind.TOPIC, Kind.GROUP, Kind.BROKER, Kind.CLUSTER})
NEAR_MAX: Final = 5_000
"""Names that a near one is looked for among; with more of them it would hold up typing."""


def problem(text: str, names: Names) -> str:
    """Return what is wrong with the finished words of a line; empty for nothing."""
    spot = spot_of(text)
    words = spot.words
    if spot.after_pipe or spot.after_redirect or not words or words[0].lower() in OWN_WORDS:
        return ""
    try:
        found = find([word for word in words if not word.startswith("-")])
    except Usage:
        # What is wrong with the name of a command, the syntax line says.
        return ""
    for at in range(found.word_count, len(words)):
        said = _judge(words[:at], words[at], found, names)
        if said:
            return said
    return ""


def _judge(before: list[str], word: str, found: Found, names: Names) -> str:
    parameter = value_at(before, word, found)
    if parameter is None:
        return ""
    if parameter.choices and word.lower() not in {one.lower() for one in parameter.choices}:
        return f"{parameter.long}: {word!r} is none of {', '.join(parameter.choices)}"
    if parameter.kind in JUDGED and not found.command.name.endswith(" create"):
        return _unknown(word, parameter, names)
    return ""


def _unknown(word: str, parameter: Parameter, names: Names) -> str:
    known = names.of(parameter.kind)
    address = parameter.kind is Kind.BROKER and ":" in word
    if not names.connected or not known or word in known or address:
        return ""
    near = get_close_matches(word, known[:NEAR_MAX], n=1)
    kind = parameter.kind.name.lower()
    return f"no {kind} `{word}`" + (f"; did you mean {near[0]}?" if near else "")
