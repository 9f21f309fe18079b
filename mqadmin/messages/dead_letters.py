"""Dead letters: the messages that a group gave up, in its topic ``%DLQ%group``.

Rule: a dead letter is a copy; its property RETRY_TOPIC has the original topic (newer brokers also
write DLQ_ORIGIN_TOPIC), and ORIGIN_MESSAGE_ID the first id.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from mqadmin.cli.decorators import group_argument, limit_option, option_group, with_key, with_tags
from mqadmin.cli.times import TIME, bound_ms
from mqadmin.cli.types import TOPIC
from mqadmin.errors import ItemNotFound
from mqadmin.messages.broker_reader import QueueSpan
from mqadmin.messages.browse import MessageQuery, consumer_and_spans
from mqadmin.messages.filter import RecordFilter
from mqadmin.messages.message_rows import MessageRow, Warn, row_of
from mqadmin.output.rows import EpochMs
from mqadmin.output.times import When
from mqadmin.session.call import Call
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import NoRoute
from storefmt.formats.properties import ORIGIN_MESSAGE_ID, RETRY_TOPIC
from storefmt.names import DLQ_PREFIX

if TYPE_CHECKING:
    from mqclient.message import MessageExt

ORIGIN_TOPIC = "DLQ_ORIGIN_TOPIC"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterOptions:
    """Which dead letters: the arguments of `show` and `resend`."""

    group: str
    from_: When | None
    to: When | None
    topic: str | None
    tag: tuple[str, ...]
    key: str | None
    ids: tuple[str, ...]
    limit: int | None

    def filter(self, now_ms: int) -> RecordFilter:
        """Return the filter of records; ``wants`` checks ``topic`` and ``ids``."""
        return RecordFilter(
            key=self.key,
            tags=self.tag,
            begin_ms=bound_ms(self.from_, now_ms),
            end_ms=bound_ms(self.to, now_ms),
        )

    def wants(self, message: "MessageExt | MessageRow") -> bool:
        """Return whether a message has the topic and one of the ids that were asked for."""
        if self.topic is not None and origin_topic(message) != self.topic:
            return False
        if isinstance(message, MessageRow):
            return not self.ids or message.msg_id in self.ids
        return not self.ids or message.offset_msg_id in self.ids


letters_options = option_group(
    "letters",
    DeadLetterOptions,
    group_argument(),
    click.option("--from", "from_", type=TIME, help="only letters given up at this time or later"),
    click.option("--to", type=TIME, help="only letters given up at this time or earlier"),
    click.option("--topic", type=TOPIC, help="only letters that were first sent to this topic"),
    with_tags("-t"),
    with_key,
    click.option(
        "--id", "ids", multiple=True, metavar="ID", help="only the letter with this offset id"
    ),
    limit_option(),
)


async def letter_parts(
    call: Call, query: MessageQuery, group: str
) -> tuple[PullConsumer, list[QueueSpan]]:
    """Return a consumer, and the spans of a group's dead letters.

    Raises:
        ItemNotFound: the group has never given up a message.
    """
    try:
        return await consumer_and_spans(call, query)
    except NoRoute:
        raise ItemNotFound(
            f"group {group} has no dead letters",
            hint="`dead-letter list` shows the groups that have",
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterRow(MessageRow):
    """A dead letter; ``origin_…`` is where it was first sent."""

    group: str
    origin_topic: str | None
    origin_msg_id: str | None
    given_up_ms: EpochMs


def topic_of(group: str) -> str:
    """Return the topic of a group's dead letters."""
    return DLQ_PREFIX + group


def origin_topic(message: "MessageExt | MessageRow") -> str | None:
    """Return the original topic of a dead letter; None if it does not have one."""
    return message.properties.get(ORIGIN_TOPIC) or message.properties.get(RETRY_TOPIC)


def letter_row(group: str, message: "MessageExt", *, warn: Warn, body: bool) -> LetterRow:
    """Return the row of a dead letter."""
    return letter_of(group, row_of(message, warn=warn, body=body))


def letter_of(group: str, made: MessageRow) -> LetterRow:
    """Return the row of a dead letter, made of the row of a message."""
    return LetterRow.of(
        made,
        group=group,
        origin_topic=origin_topic(made),
        origin_msg_id=made.properties.get(ORIGIN_MESSAGE_ID),
        given_up_ms=made.store_ms,
    )
