"""The commands as a whole: names, declarations, and the Java tool's names and flags."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqadmin.catalog import JAVA_NAMES, everything, find, fold, native_name
from mqadmin.errors import Usage
from mqadmin.helptext import command_help, overview
from mqadmin.output.columns import choose
from mqadmin.parser import Parsed, parse
from mqadmin.registry import Command, Java, JavaOption, Needs
from mqadmin.settings import GLOBALS

COMMANDS = list(everything())
WRITING = {
    *("create", "update", "delete", "reset", "send", "set", "undo"),
    *("apply", "add", "wipe", "clean", "perm", "order-conf", "white-addr", "rt"),
    *("skip", "clone", "import", "resend", "consume-direct", "bench", "promote", "demote"),
}
"""Words of commands that change something on a server."""


NUMBERS = {
    *("readQueueNums", "writeQueueNums", "perm", "retryQueueNums", "retryMaxTimes", "brokerId"),
    *("whichBrokerWhenConsumeSlowly", "queueId", "offset", "timeoutMillis", "level", "interval"),
    *("amount", "size", "messageSize", "count", "queue", "index", "qid", "MessageNumber"),
}
VALUES = {
    **dict.fromkeys(("hasUnitSub", "unit", "order", "notifyConsumerIdsChanged"), "true"),
    **dict.fromkeys(("consumeBroadcastEnable", "consumeFromMinEnable", "consumeEnable"), "true"),
    **dict.fromkeys(("removeOffset", "showClientIP", "offline", "force", "print log"), "true"),
    **dict.fromkeys(("printBody", "print msg", "calculate", "msgTraceEnable", "admin"), "true"),
    **dict.fromkeys(("beginTimestamp", "endTimestamp"), "2026-11-21#10:00:00:000"),
    **dict.fromkeys(("defaultTopicPerm", "defaultGroupPerm"), "PUB|SUB"),
    **dict.fromkeys(("topicPerms", "groupPerms"), "T=SUB"),
    "sendMessage": "true",
    "timestamp": "now",
    "charsetName": "UTF-8",
    "brokerAddr": "127.0.0.1:10911",
    "namesrvAddr": "127.0.0.1:9876",
    "method": "get",
    "ipList": "a,b",
}
"""What flags of the Java tool are given that take no free text."""


def declared() -> Iterator[tuple[str, Java]]:
    for made in COMMANDS:
        for java in made.java:
            yield made.name, java


def test_each_command_is_found_by_its_name() -> None:
    for made in COMMANDS:
        assert find(made.name.split()).command is made
        assert find(made.name.upper().split()).command is made


def test_each_module_is_named_as_its_command() -> None:
    for made in COMMANDS:
        assert native_name(made.run.__module__) == made.name


def test_each_command_has_examples_that_parse_to_it() -> None:
    for made in COMMANDS:
        assert made.examples, made.name
        for line, meaning in made.examples:
            assert meaning
            assert f"mqadmin {made.name}" in line


def test_each_table_shows_columns_that_there_are() -> None:
    for made in COMMANDS:
        if made.rows is not None:
            choose(made.rows, made.columns)


def test_no_command_takes_a_global_letter() -> None:
    taken = {parameter.short for parameter in GLOBALS if parameter.short}
    names = {parameter.name for parameter in GLOBALS}
    for made in COMMANDS:
        for parameter in made.parameters:
            assert parameter.name not in names, made.name
            assert not parameter.short or parameter.short not in taken, made.name


def test_the_table_of_java_names_is_what_the_commands_declare() -> None:
    found = {
        fold(spelled): name
        for name, java in declared()
        if not java.is_branch
        for spelled in (java.name, *java.aliases)
    }

    assert found == JAVA_NAMES


def test_java_options_are_those_of_the_java_tool(shared: Path) -> None:
    # Some came with 5.x.
    facts = [
        one
        for version in ("5.4.0", "4.9.7")
        for one in json.loads((shared / "facts" / f"mqadmin-{version}.json").read_text())
    ]
    known = {one["name"]: one for one in facts}
    for _, java in declared():
        expected = {
            (option["short"], option["long"].strip(), option["hasArg"], option["required"])
            for option in known[java.name]["options"]
            if not option["common"]
        }
        actual = {
            (flag.short, flag.long, flag.has_arg, flag.required)
            for flag in java.options
            if not flag.since_5
        }
        assert actual == expected, java.name


def test_newer_options_are_those_of_the_newer_java_tool(shared: Path) -> None:
    facts = json.loads((shared / "facts" / "mqadmin-5.4.0.json").read_text())
    known = {
        # ``-o`` is the output here.
        (one["name"], (option["short"] or "").replace("o", ""), option["long"], option["hasArg"])
        for one in facts
        for option in one["options"]
    }

    newer = {
        (java.name, flag.short, flag.long, flag.has_arg)
        for _, java in declared()
        for flag in java.options
        if flag.since_5
    }
    assert newer
    assert newer <= known


def test_every_newer_option_of_a_name_of_4_9_is_taken_or_refused(shared: Path) -> None:
    facts = json.loads((shared / "facts" / "mqadmin-5.4.0.json").read_text())
    # One name may lead to several commands, of which the first has the newer flags.
    flags: dict[str, set[str]] = {}
    for _, java in declared():
        named = {name for flag in java.options for name in (flag.short, flag.long.strip()) if name}
        flags.setdefault(java.name, set()).update(named)

    left = [
        (one["name"], option["short"] or option["long"])
        for one in facts
        for option in one["options"]
        if one["name"] in flags and not option["common"]
        if not {option["short"], option["long"]} & flags[one["name"]]
    ]

    assert left == []


REFUSED = [(java.name, flag) for _, java in declared() for flag in java.options if flag.refused]


@pytest.mark.parametrize(
    ("name", "flag"), REFUSED, ids=[f"{name}{flag.spelled}" for name, flag in REFUSED]
)
def test_a_newer_option_without_a_meaning_is_refused_by_its_name(
    name: str, flag: JavaOption
) -> None:
    with pytest.raises(Usage, match=re.escape(f"{name} {flag.spelled} is not taken")) as caught:
        parse([name, f"--{flag.long}", "x"])

    assert caught.value.hint == flag.refused


def test_every_name_and_every_flag_of_the_java_tool_is_taken(shared: Path) -> None:
    facts = json.loads((shared / "facts" / "mqadmin-4.9.7.json").read_text())

    assert len(facts) == 57
    for one in facts:
        for name in filter(None, (one["name"], one["alias"])):
            flags = [option for option in one["options"] if not option["common"]]
            every = [word for flag in flags for word in line_of(flag, flag["short"])]
            assert isinstance(parse([name, *every]), Parsed), name
            needed = [flag for flag in flags if flag["required"] or flag in either(flags, name)]
            for flag in flags:
                for spelled in (flag["short"], flag["long"].strip()):
                    rest = [
                        word
                        for other in needed
                        if other is not flag
                        for word in line_of(other, other["short"])
                    ]
                    words = line_of(flag, spelled)
                    assert isinstance(parse([name, *words, *rest]), Parsed), (name, words)


def line_of(flag: dict[str, object], spelled: str) -> list[str]:
    """Return a flag with a value that means something to it."""
    long = str(flag["long"]).strip()
    dashed = f"-{spelled}" if spelled == flag["short"] else f"--{spelled}"
    if not flag["hasArg"]:
        return [dashed]
    return [dashed, VALUES.get(long, "1" if long in NUMBERS else "x")]


def either(flags: list[dict[str, object]], name: str) -> list[dict[str, object]]:
    """Return a flag that stands for the one of several that a command needs."""
    java = next(
        java for _, java in declared() if fold(name) in map(fold, (java.name, *java.aliases))
    )
    return [flag for flag in flags if flag["long"] in {"brokerAddr", "broker", "cluster"}][
        : 1 if java.any_of else 0
    ]


def test_each_help_names_usage_and_options() -> None:
    for made in COMMANDS:
        text = command_help(made)
        assert f"Usage: mqadmin {made.name}" in text
        for parameter in made.parameters:
            assert (parameter.metavar if parameter.positional else f"--{parameter.long}") in text


def test_the_overview_lists_every_command() -> None:
    text = overview()

    for made in COMMANDS:
        assert f"  {made.name}" in text


@pytest.mark.parametrize("made", COMMANDS, ids=lambda made: made.name)
def test_writes_are_declared(made: object) -> None:
    assert isinstance(made, Command)
    words = set(made.name.split())
    assert made.writes is (made.needs is Needs.NAMESRV and bool(WRITING & words))
