"""Every command ends the same way where no server answers, none is named, or a line is wrong."""

import json

import click
import pytest

from mqadmin.cli.command import Command, Needs
from mqadmin.cli.options import long_of
from mqadmin.cli.parse import everything
from mqadmin.cli.types import Choice
from remoting.recall import RecallHandle
from tests.mqadmin.conftest import Run

NOBODY = "127.0.0.1:1"
FILES_FIRST = {
    *("apply", "diff", "undo", "message export", "pipeline archive"),
    *("offset import", "topic import", "group import", "message import"),
}
"""Commands that look at a file of the user before they ask a server."""
WAITING = {"wait broker", "wait group", "wait lag", "wait topic"}
"""Commands that try again until their time is over, and then exit 4, too."""
ADDRESSED = {"broker container add", "broker container remove", "ha reset-flush-offset"}
"""Commands that ask no name server; a row says how the server that they name has answered."""
EVERY = everything()
ASKING = [made for made in EVERY if made.needs in (Needs.NAMESRV, Needs.EITHER)]
COMMANDS = [made for made in ASKING if made.name not in FILES_FIRST | WAITING | ADDRESSED]
WORDS = {
    "address": NOBODY,
    "perm": "RW",
    "account": "longEnough",
    "value": "true",
    "message_id": "7F00000100002A9F0000000000000000",
    "message_ids": "7F00000100002A9F0000000000000000",
    "queue": "0",
    "target": "another-name",
    "source": NOBODY,
    "body": "a body",
    "resource": "Topic:orders",
    "resources": "Topic:orders",
    "handle": RecallHandle("some-topic", "some-broker", "1", "7F0000010000").encode(),
}

MORE = {
    "message send": ("a body",),
    "message get": ("--topic", "some-topic"),
    "assert message-count": ("--min", "1"),
    "top": ("--once",),
    "acl2 copy": ("--from-broker", "some-broker", "--broker", "another-broker"),
    "user copy": ("--from-broker", "some-broker", "--broker", "another-broker"),
    "user create": ("--password", "longEnough"),
    "user update": ("--type", "Super"),
    "topic static grow": ("--queues", "8"),
}
"""Words that a command needs and does not declare as required."""


def word_for(parameter: click.Parameter) -> str:
    """Return something that the parameter takes."""
    if isinstance(parameter.type, Choice):
        return parameter.type.choices[0]
    for word in (WORDS.get(parameter.name, "some-name"), "now", "1", "earliest"):
        try:
            parameter.type.convert(word, parameter, None)
        except click.BadParameter:
            continue
        return word
    raise AssertionError(f"{parameter.name}: nothing parses")


def line_for(made: Command) -> list[str]:
    """Return a command with all that it requires."""
    words = [word_for(one) for one in made.positional if one.required]
    for one in made.options:
        if one.required:
            words += [long_of(one), word_for(one)]
    return [*made.name.split(), *words, *MORE.get(made.name, ())]


@pytest.mark.parametrize("made", COMMANDS, ids=lambda made: made.name)
def test_a_command_without_a_server_exits_4(made: Command, run: Run) -> None:
    done = run(*line_for(made), "--namesrv", NOBODY, "-y", "-ojson")

    assert (done.exit_code, done.out) == (4, ""), done
    error = json.loads(done.err)["error"]
    assert error["code"] == "unreachable"
    assert NOBODY in error["message"]


@pytest.mark.parametrize("made", COMMANDS, ids=lambda made: made.name)
def test_a_command_that_is_told_no_server_exits_2(made: Command, run: Run) -> None:
    done = run(*line_for(made), "-y")

    assert (done.exit_code, done.out) == (2, ""), done
    assert "no name server given" in done.err


@pytest.mark.parametrize("made", EVERY, ids=lambda made: made.name)
def test_a_wrong_option_and_a_word_too_few_exit_2(made: Command, run: Run) -> None:
    wrong = run(*line_for(made), "--no-such-option")
    needed = [one for one in made.params if one.required] or made.needs is Needs.STORE

    assert (wrong.exit_code, "unknown option" in wrong.err) == (2, True)
    if needed:
        assert run(*made.name.split()).exit_code == 2
