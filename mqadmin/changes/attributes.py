"""The attributes that RocketMQ 5 gives to topics and groups, as a line changes them.

    --attributes +reserve.time=72,-message.type      sets the first, removes the second

Rule: a line names changes and not a whole map, so an attribute that it does not name stays. What
the names and values may be is for the broker to say: each release knows more of them.

Source: common/attribute/AttributeParser.java (5.4.0).
"""

from collections.abc import Mapping
from typing import Final

import click

from mqadmin.cli.types import TextType
from storefmt.config.topic_attributes import parse_changes
from storefmt.errors import BadCall


def parse_attributes(text: str) -> dict[str, str]:
    """Return the value of each change by its signed name, ``+reserve.time``; "" for a removal.

    Raises:
        ValueError: the text has another form, or names an attribute twice.
    """
    try:
        changes = parse_changes(text.strip())
    except BadCall as error:
        raise ValueError(f"{text!r}: {error}") from None
    both = sorted(name[1:] for name in changes if f"+{name[1:]}" in changes and name[0] == "-")
    if both:
        raise ValueError(f"{text!r} sets and removes {', '.join(both)}")
    return changes


def apply_changes(old: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
    """Return attributes after changes by signed name; an absent one may be removed."""
    kept = {name: value for name, value in old.items() if f"-{name}" not in changes}
    named = {name[1:]: value for name, value in changes.items() if name.startswith("+")}
    return {**kept, **named}


attributes_option: Final = click.option(
    "--attributes",
    type=TextType(read=parse_attributes),
    metavar="+NAME=VALUE,-NAME",
    help="attributes to set and to remove (brokers of 5.x)",
)
"""``--attributes`` of the commands that create and change topics and groups."""
