"""What a line of the Java tool does not say has the default of the native command."""

from typing import Final

import click
import pytest

from mqadmin.cli.command import Parsed
from mqadmin.cli.java.names import Java
from mqadmin.cli.java.table import JAVA
from mqadmin.cli.parse import parse

VALUES: Final = {"perm": "6", "method": "get"}
"""Values of flags that take no 1."""


def given(java: Java) -> dict[str, list[str]]:
    """Return the words of each flag that must be there, by the field that it fills."""
    wanted = [flag for flag in java.options if flag.required or flag.field in java.any_of[:1]]
    return {
        flag.field: [flag.names[0], *([VALUES.get(flag.field, "1")] if flag.has_arg else [])]
        for flag in wanted
    }


def default_of(parameter: click.Parameter) -> object:
    """Return what a native line has where it does not say."""
    # Click's own mark for "no default" is None there.
    default = parameter.to_info_dict()["default"]
    return parameter.process_value(click.Context(click.Command("any")), default)


@pytest.mark.parametrize("java", [one for one in JAVA if not one.is_branch], ids=lambda j: j.name)
def test_what_is_not_on_the_line_has_its_default(java: Java) -> None:
    words = given(java)

    parsed = parse([java.name, *(word for part in words.values() for word in part)])

    assert isinstance(parsed, Parsed)
    said = {*words, *(field for field, _ in java.preset)}
    left = [one for one in parsed.command.params if one.name not in said and not one.required]
    native = {one.name: default_of(one) for one in left}
    assert {one.name: parsed.values[one.name] for one in left} == native
