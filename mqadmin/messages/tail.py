"""The options that ``message tail`` and ``store tail`` share to follow messages."""

import re
from dataclasses import dataclass

import click

from mqadmin.cli.decorators import no_bodies_option, no_follow_option, option_group, with_key
from mqadmin.cli.types import QUEUE, Integer, TextType, ValueKind
from mqadmin.cluster.brokers import queue_number
from mqadmin.messages.filter import RecordFilter, body_conditions
from mqadmin.messages.json_condition import JsonCondition
from mqadmin.output.times import parse_start


@dataclass(frozen=True, slots=True, kw_only=True)
class TailOptions:
    """What is followed, and when it ends.

    Attributes:
        from_: earliest, latest or a time.
        count: end after so many.
        bytes_: end before bodies of more bytes in all.
        scan: end after so many were looked at.
        no_follow: end at what is there now.
    """

    from_: str
    count: int | None
    bytes_: int | None
    scan: int | None
    key: str | None
    properties: tuple[tuple[str, str], ...]
    grep: re.Pattern[str] | None
    json: JsonCondition | None
    queue: str | None
    no_follow: bool
    no_body: bool

    def filter(self, *, topic: str | None = None, tags: tuple[str, ...] = ()) -> RecordFilter:
        """Return which records are wanted, of a queue by its id alone.

        Raises:
            Usage: the queue is none.
        """
        return RecordFilter(
            topic=topic,
            queue_id=None if self.queue is None else queue_number(self.queue),
            tags=tags,
            key=self.key,
            property=self.properties,
            body=self.grep,
            json=self.json,
        )


tail_options = option_group(
    "tail",
    TailOptions,
    click.option(
        "--from",
        "from_",
        type=TextType(ValueKind.TIME, parse_start),
        default="latest",
        metavar="WHERE",
        help="earliest, latest or a TIME",
    ),
    click.option("--count", "-c", type=Integer(min=1), help="end after this many"),
    click.option(
        "--bytes", "bytes_", type=Integer(min=0), help="end before bodies of more bytes in all"
    ),
    click.option("--scan", type=Integer(min=0), help="end after looking at this many"),
    with_key,
    body_conditions,
    click.option("--queue", type=QUEUE, help="only this queue"),
    no_follow_option,
    no_bodies_option,
)
