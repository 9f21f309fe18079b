"""``message resend``: send a stored message once more, as a new message.

Requests: those that find it, then SEND_MESSAGE_V2.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.again import Again, send_again
from mqadmin.call import Call
from mqadmin.findmessage import find_message, split_ids
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import PARTLY, WOULD_CHANGE, Outcome
from mqclient.errors import ClientError
from mqclient.message import MessageExt
from mqclient.producer.producer import Producer
from storefmt.errors import StoreError


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which messages, and where to."""

    id: Annotated[tuple[str, ...], argument("an offset id, or with --topic a unique id")]
    topic: Annotated[str | None, option("where to look for a unique id", kind=Kind.TOPIC)] = None
    to: Annotated[str | None, option("to this topic instead of its own", kind=Kind.TOPIC)] = None
    group: Annotated[str, option("as this producer group", kind=Kind.GROUP)] = "MQADMIN"


@command(
    "message resend",
    "send a stored message once more",
    examples=(
        ("mqadmin message resend 7F0000010000...", "to the topic it is in"),
        ("mqadmin message resend 7F0000010000... --to orders-test", "to another topic"),
    ),
    details="Body, tag, keys, flag and own properties are those of the stored message; its id "
    "is a new one, so every group of the topic gets it.",
    rows=Again,
    writes=True,
    java=(
        Java(
            "queryMsgById",
            (
                JavaOption("i", "msgId", "id", required=True),
                JavaOption("g", "consumerGroup"),
                JavaOption("d", "clientId"),
                JavaOption("s", "sendMessage"),
                JavaOption("u", "unitName"),
            ),
            is_branch=True,
        ),
    ),
)
async def resend(call: Call, args: Arguments) -> Outcome:
    """Return one row a message: where it went, or why it did not.

    Raises:
        NotFound: there is no such message.
        NoRoute: there is no such topic.
    """
    found = [await find_message(call, one, topic=args.topic) for one in split_ids(args.id)]
    producer = Producer(await call.client(), args.group)
    pairs = [(one, args.to or one.topic) for one in found]
    if call.dry_run:
        return Outcome([Again.of(one, target, status=WOULD_CHANGE) for one, target in pairs])
    for one, target in pairs:
        await call.confirm(f"send {one.msg_id} to topic {target} once more?")
    done = [await _send(producer, one, target) for one, target in pairs]
    failed = sum(row.error is not None for row in done)
    return Outcome(done, exit_code=0 if not failed else PARTLY if failed < len(done) else 1)


async def _send(producer: Producer, message: MessageExt, target: str) -> Again:
    """Send one message; a failure is its own and ends no other."""
    try:
        return await send_again(producer, message, topic=target)
    except (ClientError, StoreError) as error:
        return Again.of(message, target, status="failed", error=str(error))
