"""Filter messages, whether brokers send them or a store contains them."""

import re
from dataclasses import dataclass

import click

from mqadmin.cli.decorators import combine
from mqadmin.cli.types import NAME_VALUE, TextType
from mqadmin.messages.json_condition import JsonCondition, parse_json_condition
from mqadmin.messages.message_rows import BODY_SIZE_MAX
from storefmt.errors import StoreError
from storefmt.formats.message import Record
from storefmt.formats.sysflag import inflate


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """The conditions on a record; None and empty mean any. Times are in ms, both ends included."""

    topic: str | None = None
    queue_id: int | None = None
    key: str | None = None
    tags: tuple[str, ...] = ()
    producer: str | None = None
    begin_ms: int | None = None
    end_ms: int | None = None
    property: tuple[tuple[str, str], ...] = ()
    body: re.Pattern[str] | None = None
    """A pattern that matches anywhere in the decompressed body."""
    json: JsonCondition | None = None
    """A condition on a body that is JSON."""

    def wants(self, record: Record) -> bool:
        """Return whether a record passes."""
        if self.topic is not None and record.topic != self.topic:
            return False
        if self.queue_id is not None and record.queue_id != self.queue_id:
            return False
        if self.begin_ms is not None and record.store_ms < self.begin_ms:
            return False
        if self.end_ms is not None and record.store_ms > self.end_ms:
            return False
        if self.key is not None and self.key != record.unique_key and self.key not in record.keys:
            return False
        if self.tags and record.tags not in self.tags:
            return False
        properties = record.properties if self.property else {}
        if any(properties.get(name) != value for name, value in self.property):
            return False
        if self.producer is not None and record.properties.get("PGROUP") != self.producer:
            return False
        if self.body is None and self.json is None:
            return True
        text = _text_of(record)
        if self.body is not None and self.body.search(text) is None:
            return False
        return self.json is None or self.json.is_in(text)


def _text_of(record: Record) -> str:
    try:
        raw = inflate(record.body, record.sys_flag, size_max=BODY_SIZE_MAX)
    except StoreError:
        # A body that cannot be decompressed is checked as it is stored.
        raw = record.body
    return raw.decode("utf-8", "replace")


def parse_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern for bodies.

    Raises:
        ValueError: it is not a pattern.
    """
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a valid pattern: {error}") from None


body_conditions = combine(
    click.option(
        "--property",
        "-p",
        "properties",
        type=NAME_VALUE,
        multiple=True,
        help="only messages with this property",
    ),
    click.option(
        "--grep",
        type=TextType(read=parse_pattern),
        metavar="PATTERN",
        help="only messages with this pattern in the body",
    ),
    click.option(
        "--json",
        type=TextType(read=parse_json_condition),
        metavar="PATH[=VALUE]",
        help="only messages with this value in a JSON body",
    ),
)
"""Conditions on a message's properties and body."""
