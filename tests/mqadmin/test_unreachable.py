"""Every command that asks a server ends the same way where there is none: exit code 4."""

import json
from collections.abc import Callable

import pytest

from mqadmin.catalog import everything
from mqadmin.parameters import Kind, Parameter
from mqadmin.registry import Command, Needs
from tests.mqadmin.conftest import Result

Run = Callable[..., Result]
NOBODY = "127.0.0.1:1"
AREAS = {"broker", "cluster", "namesrv", "acl", "topic", "group"}
COMMANDS = [
    made for made in everything() if made.needs is Needs.NAMESRV and made.name.split()[0] in AREAS
]
WORDS = {
    "perm": "RW",
    "account": "longEnough",
    "value": "true",
}


def word_for(parameter: Parameter) -> str:
    """Return something that the parser takes."""
    if parameter.choices:
        return parameter.choices[0]
    return WORDS.get(parameter.name, "now" if parameter.kind is Kind.TIME else "some-name")


@pytest.mark.parametrize("made", COMMANDS, ids=lambda made: made.name)
def test_a_command_without_a_server_exits_4(made: Command[object], run: Run) -> None:
    required = [parameter for parameter in made.parameters if parameter.required]
    words = [word_for(one) for one in required if one.positional]
    for one in required:
        if not one.positional:
            words += [f"--{one.long}", word_for(one)]

    done = run(*made.name.split(), *words, "--namesrv", NOBODY, "-y", "-ojson")

    assert (done.exit_code, done.out) == (4, ""), done
    error = json.loads(done.err)["error"]
    assert error["code"] == "unreachable"
    assert NOBODY in error["message"]
