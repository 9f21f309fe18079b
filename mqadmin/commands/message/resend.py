"""``message resend``: send a stored message again, as a new message.

Requests: those that find it, then SEND_MESSAGE_V2.
"""

import click

from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.decorators import message_ids_argument, producer_group, topic_of_id
from mqadmin.cli.types import TOPIC
from mqadmin.messages.find import find_message, split_ids
from mqadmin.messages.resend import ResentRow, not_sent, send_again
from mqadmin.output.rows import PARTLY, WOULD_CHANGE
from mqclient.errors import ClientError
from mqclient.message import MessageExt
from mqclient.producer.producer import Producer
from storefmt.errors import StoreError


@command(
    "message resend",
    examples=(
        ("mqadmin message resend 7F0000010000...", "to the same topic"),
        ("mqadmin message resend 7F0000010000... --to orders-test", "to another topic"),
    ),
    details="Body, tag, keys, flag and user properties are those of the stored message. The id "
    "is new, so every group of the topic gets it.",
    rows=ResentRow,
    writes=True,
)
@message_ids_argument
@topic_of_id
@click.option("--to", type=TOPIC, metavar="TOPIC", help="send to this topic instead of its own")
@producer_group
async def resend(
    call: Call, *, message_ids: tuple[str, ...], topic: str | None, to: str | None, group: str
) -> Outcome:
    """Return one row for each message: where it went, or why it did not.

    Raises:
        ItemNotFound: the message does not exist.
        NoRoute: the topic does not exist.
    """
    messages = [await find_message(call, text, topic=topic) for text in split_ids(message_ids)]
    producer = Producer(await call.client(), group)
    pairs = [(message, to or message.topic) for message in messages]
    if call.dry_run:
        return Outcome([not_sent(one, target, status=WOULD_CHANGE) for one, target in pairs])
    for one, target in pairs:
        await call.confirm(f"send {one.offset_msg_id} to topic {target} again?")
    results = [await _send(producer, message, target) for message, target in pairs]
    failed = sum(row.error is not None for row in results)
    return Outcome(results, exit_code=0 if not failed else PARTLY if failed < len(results) else 1)


async def _send(producer: Producer, message: MessageExt, target: str) -> ResentRow:
    """Send one message; its failure does not stop the others."""
    try:
        return await send_again(producer, message, topic=target)
    except (ClientError, StoreError) as error:
        return not_sent(message, target, status="failed", error=str(error))
