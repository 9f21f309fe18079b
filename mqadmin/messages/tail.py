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
        bytes_: stop before the bodies exceed this many bytes in total.
        scan: stop after checking so many messages.
        no_follow: stop at the present end.
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
            Usage: the queue is not valid.
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
    click.option("--count", "-c", type=Integer(min=1), help="stop after this many messages"),
    click.option(
        "--bytes",
        "bytes_",
        type=Integer(min=0),
        help="stop before the bodies exceed this many bytes in total",
    ),
    click.option("--scan", type=Integer(min=0), help="stop after checking this many messages"),
    with_key,
    body_conditions,
    click.option("--queue", type=QUEUE, help="only this queue"),
    no_follow_option,
    no_bodies_option,
)
