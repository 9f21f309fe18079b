"""Which commands there are, found by name without importing the others.

    topic list          -> mqadmin/commands/topic/list.py
    broker config get   -> mqadmin/commands/broker/config_get.py
    shell               -> mqadmin/commands/shell/shell.py
    topicStatus         -> JAVA_NAMES says: topic status

Rule: names match without regard to case, ``_`` and ``-``; the longest name wins. The
table of Java names is checked against the declarations by a test, so that a look-up
needs no import.
"""

import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Final, NamedTuple

from mqadmin.errors import Usage
from mqadmin.registry import Command, Java, declared_in

JAVA_NAMES: Final[dict[str, str]] = {
    "addwriteperm": "broker write-perm add",
    "allocatemq": "rebalance plan",
    "brokerconsumestats": "broker consume-stats",
    "brokerstatus": "broker status",
    "checkmsgsendrt": "message bench",
    "cleanexpiredcq": "broker clean expired-queues",
    "cleanunusedtopic": "broker clean unused-topics",
    "clonegroupoffset": "offset clone",
    "clusteraclconfigversion": "acl version",
    "clusterlist": "cluster list",
    "clusterrt": "cluster rt",
    "consumemessage": "message print",
    "consumerconnection": "group show",
    "consumerprogress": "group lag",
    "consumerstatus": "group running",
    "deleteaccessconfig": "acl delete",
    "deleteaclconfig": "acl delete",
    "deleteexpiredcommitlog": "broker clean expired-log",
    "deletekvconfig": "namesrv kv delete",
    "deletesubgroup": "group delete",
    "deletetopic": "topic delete",
    "exportconfigs": "export configs",
    "exportmetadata": "export metadata",
    "exportmetrics": "export metrics",
    "hastatus": "ha status",
    "getaccessconfigsubcommand": "acl list",
    "getaclconfig": "acl list",
    "getbrokerconfig": "broker config get",
    "getconsumerconfig": "group config",
    "getnamesrvconfig": "namesrv config get",
    "printmsg": "message print",
    "printmsgbyqueue": "message print",
    "producer": "broker connections",
    "producerconnection": "broker connections",
    "querycq": "queue show",
    "querymsgbyid": "message query id",
    "querymsgbykey": "message query key",
    "querymsgbyoffset": "message query offset",
    "querymsgbyuniquekey": "message query unique-key",
    "querymsgtracebyid": "message trace",
    "resetoffsetbytime": "offset reset",
    "sendmessage": "message send",
    "sendmsgstatus": "message bench",
    "skipaccumulatedmessage": "offset skip",
    "startmonitoring": "doctor",
    "statsall": "group tps",
    "topicclusterlist": "topic clusters",
    "topiclist": "topic list",
    "topicroute": "topic route",
    "topicstatus": "topic status",
    "updateaclconfig": "acl set",
    "updatebrokerconfig": "broker config set",
    "updateglobalwhiteaddr": "acl white-addr",
    "updatekvconfig": "namesrv kv set",
    "updatenamesrvconfig": "namesrv config set",
    "updateorderconf": "topic order-conf",
    "updatesubgroup": "group update",
    "updatesubgrouplist": "group import",
    "updatetopic": "topic update",
    "updatetopiclist": "topic import",
    "updatetopicperm": "topic perm",
    "wipewriteperm": "broker write-perm wipe",
}
"""Folded names of RocketMQ's own tool, and the command each is an alias of."""

WORDS_MAX: Final = 3

DASHED: Final = (
    "message-count",
    *("unique-key", "write-perm", "expired-queues", "unused-topics", "expired-log"),
    *("decode-id", "consume-direct"),
    *("consume-stats", "order-conf", "white-addr"),
)
"""Words of verbs that are typed with a dash; a test compares them with the declarations."""

FOLDER: Final = os.path.join(os.path.dirname(__file__), "commands")


class Found(NamedTuple):
    """A command, by which Java name it was called, and how many words that took."""

    command: Command[object]
    java: Java | None
    word_count: int


def fold(word: str) -> str:
    """Return a name as it is compared: lower case, without ``_`` and ``-``."""
    return word.lower().replace("-", "").replace("_", "")


def find(words: Sequence[str]) -> Found:
    """Return the command that the first of ``words`` name.

    Raises:
        Usage: there is no such command; the hint names the nearest.
    """
    for word_count in range(min(len(words), WORDS_MAX), 0, -1):
        spot = _module_of(words[:word_count])
        if spot is not None:
            return Found(load(spot), None, word_count)
    native = JAVA_NAMES.get(fold(words[0])) if words else None
    if native is not None:
        return _of_java(native, words[0])
    raise _unknown(words)


def below(words: Sequence[str]) -> list[Command[object]]:
    """Return the commands whose names go on behind ``words``; none where these name one."""
    if not words or _module_of(words) is not None:
        return []
    begin = " ".join(words).lower() + " "
    names = modules().get(fold(words[0]), {}).values()
    return [load(name) for name in names if native_name(name).startswith(begin)]


def branch_of(found: Found, given: Mapping[str, str]) -> Found | None:
    """Return the other command that flags of a Java name ask for, None where they ask for none.

    Args:
        given: the value of each flag that is on the line, by its short name.
    """
    if found.java is None:
        return None
    for branch in found.java.branches:
        if all(given.get(flag, "false").strip().lower() != "false" for flag in branch.flags):
            return _of_java(branch.command, found.java.name)
    return None


def load(module_name: str) -> Command[object]:
    """Import one command module and return its command."""
    return declared_in(importlib.import_module(module_name))


@cache
def modules() -> dict[str, dict[str, str]]:
    """Return the module of every command: noun, folded verb, module name."""
    found: dict[str, dict[str, str]] = {}
    for noun in sorted(os.listdir(FOLDER)):
        folder = os.path.join(FOLDER, noun)
        if not os.path.isfile(os.path.join(folder, "__init__.py")):
            continue
        for file_name in sorted(os.listdir(folder)):
            stem, extension = os.path.splitext(file_name)
            if extension == ".py" and not stem.startswith("_"):
                verb = "" if stem == noun else fold(stem)
                found.setdefault(fold(noun), {})[verb] = f"mqadmin.commands.{noun}.{stem}"
    return found


def everything() -> Iterator[Command[object]]:
    """Import every command module and yield the commands, sorted by name."""
    yield from sorted((load(name) for name in module_names()), key=lambda made: made.name)


def nouns() -> list[str]:
    """Return the first words of all commands."""
    return sorted({native_name(name).split()[0] for name in module_names()})


def module_names() -> list[str]:
    """Return the modules of all commands."""
    return [name for verbs in modules().values() for name in verbs.values()]


def native_name(module_name: str) -> str:
    """Return the words of a command as typed, from where its module is.

    A ``_`` stands for a blank, except in a noun and in ``DASHED`` words; at the end of a noun it
    keeps a word of Python apart (``assert_``).
    """
    noun, stem = module_name.split(".")[-2:]
    noun_typed = noun.rstrip("_").replace("_", "-")
    # `import_` is a word of Python, and no module can be named so.
    stem = stem.rstrip("_")
    if noun == stem:
        return noun_typed
    for dashed in DASHED:
        stem = stem.replace(dashed.replace("-", "_"), dashed)
    return f"{noun_typed} {stem.replace('_', ' ')}"


def _module_of(words: Sequence[str]) -> str | None:
    folded = [fold(word) for word in words]
    verbs = modules().get(folded[0])
    return verbs.get("".join(folded[1:])) if verbs and all(folded) else None


def _of_java(native: str, word: str) -> Found:
    made = find(native.split()).command
    java = next(java for java in made.java if _called(java, word))
    return Found(made, java, 1)


def _called(java: Java, word: str) -> bool:
    return fold(word) in {fold(name) for name in (java.name, *java.aliases)}


def _unknown(words: Sequence[str]) -> Usage:
    if not words:
        return Usage("no command given", hint="`mqadmin help` lists them")
    typed = " ".join(words[:2])
    verbs = modules().get(fold(words[0]))
    if verbs is not None:
        known = [native_name(name) for name in verbs.values()]
        if len(words) == 1:
            return Usage(f"{words[0]} what?", hint="one of: " + ", ".join(known))
        near = get_close_matches(typed.lower(), known, n=1, cutoff=0.5)
        hint = f"did you mean `{near[0]}`?" if near else "one of: " + ", ".join(known)
        return Usage(f"unknown command `{typed}`", hint=hint)
    every = [*nouns(), *(native_name(name) for name in module_names()), *JAVA_NAMES]
    near = get_close_matches(typed.lower(), every, n=1) or get_close_matches(
        words[0].lower(), every, n=1
    )
    shown = next((java for java in _java_spelling() if near and java.lower() == near[0]), None)
    hint = f"did you mean `{shown or near[0]}`?" if near else "`mqadmin help` lists them"
    return Usage(f"unknown command `{words[0]}`", hint=hint)


def _java_spelling() -> Iterator[str]:
    for name in sorted(set(JAVA_NAMES.values())):
        for java in find(name.split()).command.java:
            yield from (java.name, *java.aliases)
