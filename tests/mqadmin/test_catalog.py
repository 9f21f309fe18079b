"""The commands as a whole: names, declarations, and the Java tool's names and flags."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqadmin.catalog import JAVA_NAMES, everything, find, fold, native_name
from mqadmin.helptext import command_help, overview
from mqadmin.output.columns import choose
from mqadmin.registry import Command, Java, Needs
from mqadmin.settings import GLOBALS

COMMANDS = list(everything())
WRITING = {
    *("create", "update", "delete", "reset", "send", "set", "undo"),
    *("apply", "add", "wipe", "clean", "perm", "order-conf", "white-addr", "rt"),
    *("skip", "clone", "import", "resend", "consume-direct", "bench"),
}
"""Words of commands that change something on a server."""


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
        fold(spelled): name for name, java in declared() for spelled in (java.name, *java.aliases)
    }

    assert found == JAVA_NAMES


def test_java_options_are_those_of_the_java_tool(shared: Path) -> None:
    facts = json.loads((shared / "facts" / "mqadmin-4.9.7.json").read_text())
    known = {one["name"]: one for one in facts}
    for _, java in declared():
        expected = {
            (option["short"], option["long"].strip(), option["hasArg"], option["required"])
            for option in known[java.name]["options"]
            if not option["common"]
        }
        actual = {(flag.short, flag.long, flag.has_arg, flag.required) for flag in java.options}
        assert actual == expected, java.name


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
