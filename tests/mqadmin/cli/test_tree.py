"""The commands as a whole: names, declarations, and the Java tool's names and flags."""

import ast
import importlib
import inspect
import json
import re
from dataclasses import fields
from keyword import iskeyword
from pathlib import Path
from typing import Any

import pytest

from mqadmin import commands
from mqadmin.cli import tree
from mqadmin.cli.command import Command, Needs, ParsedLine
from mqadmin.cli.globals import GLOBALS
from mqadmin.cli.help import command_help, listing, overview
from mqadmin.cli.java.names import JavaOption
from mqadmin.cli.java.table import JAVA, spellings
from mqadmin.cli.options import label_of, metavar_of
from mqadmin.cli.parse import everything, parse
from mqadmin.cli.tree import fold
from mqadmin.errors import Usage
from mqadmin.output.columns import choose
from mqadmin.session.global_options import GlobalOptions

COMMANDS = list(everything())
COMMANDS_FOLDER = Path(commands.__file__).parent
WRITING = {
    *("create", "update", "delete", "reset", "send", "set", "undo"),
    *("apply", "add", "wipe", "clean", "perm", "order-conf", "white-addr", "rt"),
    *("skip", "clone", "import", "resend", "consume-direct", "bench", "promote", "demote"),
    *("recall", "copy", "elect", "reset-flush-offset"),
    *("grow", "remap", "remove", "transfer", "dump", "read-ahead", "timer-engine"),
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


def java_tool(fact_tables: Path, version: str) -> list[dict[str, Any]]:
    """Return what is known of the names and options of a release of the Java tool."""
    return json.loads((fact_tables / f"mqadmin-{version}.json").read_text())


@pytest.mark.parametrize("made", COMMANDS, ids=lambda made: made.name)
def test_a_command_takes_what_it_declares(made: Command) -> None:
    declared = {one.name for one in made.params}
    whole = inspect.signature(inspect.unwrap(made.run)).parameters
    taken = {name for name, one in whole.items() if one.kind is inspect.Parameter.KEYWORD_ONLY}

    assert next(iter(whole)) == "call"
    assert len(whole) == 1 + len(taken)
    assert len(made.params) == len(declared)
    # Each wrapper gathers some into one object, which has a name of its own.
    gathered, run = 0, made.run
    while hasattr(run, "__wrapped__"):
        gathered, run = gathered + 1, run.__wrapped__
    assert len(taken - declared) == gathered
    assert gathered or taken == declared


def test_each_command_is_found_by_its_name_in_any_case() -> None:
    for made in COMMANDS:
        assert tree.command_named(made.name.split()) == made.name
        assert tree.command_named(made.name.upper().replace("-", "_").split()) == made.name


def test_each_command_stands_where_its_name_says() -> None:
    files = {
        str(file.relative_to(COMMANDS_FOLDER)): file
        for file in COMMANDS_FOLDER.rglob("*.py")
        if file.name not in {"__init__.py", "_shared.py"}
    }
    homes: dict[str, list[str]] = {}
    for name in tree.COMMANDS:
        noun, *verbs = (
            f"{word}_" if iskeyword(word) else word for word in name.replace("-", "_").split()
        )
        forms = {f"{noun}.py", f"{noun}/{'_'.join(verbs)}.py", f"{noun}/{'_'.join(verbs[:1])}.py"}
        homes[name] = sorted(forms & files.keys())

    module_of = {name: tree.module_of(name).split(".", 2)[2] for name in tree.COMMANDS}
    for name, home in homes.items():
        assert f"{module_of[name].replace('.', '/')}.py" in home
    assert {file for home in homes.values() for file in home} == files.keys()


def test_the_tree_is_what_the_modules_declare() -> None:
    modules = {tree.module_of(name) for name in tree.COMMANDS}

    assert [made.name for made in COMMANDS] == sorted(tree.COMMANDS)
    declared = [
        made
        for module in modules
        for made in vars(importlib.import_module(module)).values()
        if isinstance(made, Command)
    ]
    assert sorted(made.name for made in declared) == sorted(tree.COMMANDS)


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


def test_no_command_takes_a_global_name() -> None:
    taken = {name for one in GLOBALS for name in (one.name, *one.opts)}
    for made in COMMANDS:
        for one in made.params:
            assert not taken & {one.name, *one.opts}, made.name


def test_settings_are_what_the_global_options_say() -> None:
    assert [spot.name for spot in fields(GlobalOptions)] == [one.name for one in GLOBALS]


def test_java_names_are_those_of_the_java_tool_and_lead_to_commands(fact_tables: Path) -> None:
    facts = java_tool(fact_tables, "4.9.7")
    expected = {name for one in facts for name in (one["name"], one["alias"]) if name}

    assert expected <= spellings().keys()
    assert {one.command for one in JAVA} <= tree.COMMANDS.keys()
    fields_of = {made.name: {one.name for one in (*made.params, *GLOBALS)} for made in COMMANDS}
    for one in JAVA:
        named = {flag.field for flag in one.options if flag.field}
        named |= {field for field, _ in one.preset}
        assert named <= fields_of[one.command], one.name
        assert {(branch.command, True) for branch in one.branches} <= {
            (other.command, other.is_branch) for other in JAVA if other.name == one.name
        }


def test_all_90_names_of_the_tool_of_5_are_known(fact_tables: Path) -> None:
    names = {command["name"] for command in java_tool(fact_tables, "5.4.0")}

    assert len(names) == 90
    assert names - spellings().keys() == set()


def test_java_options_are_those_of_the_java_tool(fact_tables: Path) -> None:
    # Some came with 5.x.
    facts = (*java_tool(fact_tables, "5.4.0"), *java_tool(fact_tables, "4.9.7"))
    known = {one["name"]: one for one in facts}
    for java in JAVA:
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


def test_newer_options_are_those_of_the_newer_java_tool(fact_tables: Path) -> None:
    known = {
        # ``-o`` is the output here.
        (one["name"], (option["short"] or "").replace("o", ""), option["long"], option["hasArg"])
        for one in java_tool(fact_tables, "5.4.0")
        for option in one["options"]
    }

    newer = {
        (java.name, flag.short, flag.long, flag.has_arg)
        for java in JAVA
        for flag in java.options
        if flag.since_5
    }
    assert newer
    assert newer <= known


def test_every_newer_option_of_a_name_of_4_9_is_taken_or_refused(fact_tables: Path) -> None:
    # One name may lead to several commands, of which the first has the newer flags.
    flags: dict[str, set[str]] = {}
    for java in JAVA:
        named = {name for flag in java.options for name in (flag.short, flag.long.strip()) if name}
        flags.setdefault(java.name, set()).update(named)

    left = [
        (one["name"], option["short"] or option["long"])
        for one in java_tool(fact_tables, "5.4.0")
        for option in one["options"]
        if one["name"] in flags and not option["common"]
        if not {option["short"], option["long"]} & flags[one["name"]]
    ]

    assert left == []


def test_no_newer_option_is_silently_ignored() -> None:
    flags = [(java.name, flag) for java in JAVA for flag in java.options if flag.since_5]

    ignored = [
        (name, flag.spelled)
        for name, flag in flags
        if sum(map(bool, (flag.field, flag.refused, flag.means))) != 1
    ]

    assert ignored == []


@pytest.mark.parametrize("line", ["queryMsgById -i x -f GBK", "printMsg -t x -c GBK"])
def test_a_charset_that_bodies_are_not_shown_in_is_refused(line: str) -> None:
    with pytest.raises(Usage, match="'GBK' is not UTF-8"):
        parse(line.split())


REFUSED = [(java.name, flag) for java in JAVA for flag in java.options if flag.refused]


@pytest.mark.parametrize(
    ("name", "flag"), REFUSED, ids=[f"{name}{flag.spelled}" for name, flag in REFUSED]
)
def test_a_newer_option_without_a_meaning_is_refused_by_its_name(
    name: str, flag: JavaOption
) -> None:
    with pytest.raises(Usage, match=re.escape(f"{name} {flag.spelled} is not taken")) as caught:
        parse([name, f"--{flag.long}", "x"])

    assert caught.value.hint == flag.refused


def test_every_name_and_every_flag_of_the_java_tool_is_taken(fact_tables: Path) -> None:
    facts = java_tool(fact_tables, "4.9.7")

    assert len(facts) == 57
    for one in facts:
        for name in filter(None, (one["name"], one["alias"])):
            flags = [option for option in one["options"] if not option["common"]]
            every = [word for flag in flags for word in line_of(flag, flag["short"])]
            assert isinstance(parse([name, *every]), ParsedLine), name
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
                    assert isinstance(parse([name, *words, *rest]), ParsedLine), (name, words)


def line_of(flag: dict[str, object], spelled: str) -> list[str]:
    """Return a flag with a value that means something to it."""
    long = str(flag["long"]).strip()
    dashed = f"-{spelled}" if spelled == flag["short"] else f"--{spelled}"
    if not flag["hasArg"]:
        return [dashed]
    return [dashed, VALUES.get(long, "1" if long in NUMBERS else "x")]


def either(flags: list[dict[str, object]], name: str) -> list[dict[str, object]]:
    """Return a flag that stands for the one of several that a command needs."""
    java = next(java for java in JAVA if fold(name) in map(fold, (java.name, *java.aliases)))
    return [flag for flag in flags if flag["long"] in {"brokerAddr", "broker", "cluster"}][
        : 1 if java.any_of else 0
    ]


def test_each_help_names_usage_and_options() -> None:
    for made in COMMANDS:
        text = command_help(made)
        assert f"Usage: mqadmin {made.name}" in text
        for one in made.params:
            assert label_of(one) in text


def test_lists_of_commands_fit_80_columns() -> None:
    texts = [
        overview(),
        *(listing([noun]) for noun in sorted({n.split()[0] for n in tree.COMMANDS})),
    ]

    assert [line for text in texts for line in text.splitlines() if len(line) > 80] == []


def test_no_line_of_a_help_is_a_backslash() -> None:
    assert [one.name for one in COMMANDS if "\\" in one.details.split("\n")[0]] == []


def test_the_overview_lists_every_command() -> None:
    text = overview()

    for made in COMMANDS:
        assert f"  {made.name}" in text


@pytest.mark.parametrize("made", COMMANDS, ids=lambda made: made.name)
def test_writes_are_declared(made: Command) -> None:
    words = set(made.name.split())
    # The others of `store` write to another directory or not at all.
    is_mending = made.name == "store epoch"
    is_writing = made.needs is Needs.NAMESRV and bool(WRITING & words)
    assert made.writes is (is_mending or is_writing)


def test_the_metavar_of_to_says_what_it_is() -> None:
    metavars = {
        made.name: metavar_of(one) for made in COMMANDS for one in made.options if one.name == "to"
    }

    assert set(metavars.values()) == {"TIME", "WHERE", "FILE", "OUT", "TOPIC"}, metavars
    assert metavars["message resend"] == "TOPIC"
    assert metavars["pipeline extract"] == "OUT"
    assert metavars["offset reset"] == "WHERE"


def test_a_default_is_shown_as_it_is_typed() -> None:
    (made,) = (one for one in COMMANDS if one.name == "message query time")

    assert "(default now)" in command_help(made)


def test_no_two_classes_of_the_toolkit_have_one_name() -> None:
    found: dict[str, list[str]] = {}
    for file in sorted(Path(commands.__file__).parents[1].rglob("*.py")):
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(str(file))

    assert {name: files for name, files in found.items() if len(files) > 1} == {}
