"""``dead-letter resend``: give the messages that a group has given up to it again.

    %DLQ%group --> %RETRY%group     only this group gets them, under their first topic
               --> --to TOPIC       every group of that topic gets them

Rule: the dead letters stay where they are; a second run sends them a second time, so each row
tells the id that was sent, and ``--from`` takes up where a run ended.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from mqadmin.again import Again, send_again
from mqadmin.browse import Wish
from mqadmin.call import Call
from mqadmin.deadletters import Letters, letter_parts, origin_topic, topic_of
from mqadmin.errors import NotFound, Usage
from mqadmin.pace import Pace
from mqadmin.parameters import Kind, option
from mqadmin.reading import read
from mqadmin.registry import command
from mqadmin.rows import PARTLY, WOULD_CHANGE, Outcome, Row
from mqclient.errors import ClientError
from mqclient.message import MessageExt
from mqclient.producer.producer import Producer
from storefmt.formats.properties import ORIGIN_MESSAGE_ID, RETRY_TOPIC
from storefmt.names import RETRY_PREFIX

TO_ORIGIN = "origin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Letters):
    """Which dead letters, where to, and how fast."""

    into: Annotated[
        str | None,
        option(
            "this topic, or `origin` for the first one; if left out, to the group alone",
            metavar="TOPIC",
            kind=Kind.TOPIC,
        ),
    ] = None
    rate: Annotated[float | None, option("so many a second at most")] = None
    producer: Annotated[str, option("as this producer group", kind=Kind.GROUP)] = "MQADMIN"


@dataclass(slots=True)
class Tally:
    """How many went well."""

    sent: int = 0
    failed: int = 0

    def exit_code(self) -> int:
        """Return the exit code once all rows are out."""
        if not self.failed:
            return 0
        return PARTLY if self.sent else 1


@command(
    "dead-letter resend",
    "give the messages that a group has given up to it again",
    examples=(
        ("mqadmin dead-letter resend billing --dry-run", "what would be sent"),
        ("mqadmin dead-letter resend billing --topic orders --rate 50 -y", "50 a second"),
        ("mqadmin dead-letter resend billing --into origin -y", "to every group of the topic"),
    ),
    details="Without --into they go through the retry topic of the group, which consumers read "
    "under the first topic; without a subscription to it they wait there.",
    rows=Again,
    columns=("status", "msg_id", "keys", "to", "queue_id", "new_offset", "new_msg_id", "error"),
    writes=True,
)
async def resend_dead_letters(call: Call, args: Arguments) -> Outcome:
    """Return one row a message; exit code 5 where some could not be sent, 1 where none could.

    Raises:
        NotFound: none of its dead letters is wanted, or it has never given up a message.
        Usage: the rate is not positive.
    """
    if args.rate is not None and args.rate <= 0:
        raise Usage(f"--rate {args.rate} is not positive")
    found = await _wanted(call, args)
    if not found:
        raise NotFound(
            f"group {args.group} has no such dead letter", hint="`dead-letter show` lists them"
        )
    if call.dry_run:
        return Outcome([Again.of(one, _target(args, one), status=WOULD_CHANGE) for one in found])
    where = args.into or f"group {args.group} alone"
    await call.confirm(f"send {len(found)} dead letters of group {args.group} to {where}?")
    tally = Tally()
    producer = Producer(await call.client(), args.producer)
    return Outcome(_send(producer, args, found, tally), exit_code=tally.exit_code)


async def _wanted(call: Call, args: Arguments) -> list[MessageExt]:
    wish = Wish(topic=topic_of(args.group), filter=args.filter(call.now_ms()))
    consumer, spans = await letter_parts(call, wish, args.group)
    found: list[MessageExt] = []
    async for message in read(consumer, spans, wish.filter):
        if args.limit is not None and len(found) >= args.limit:
            break
        if args.wants(message):
            found.append(message)
    return found


def _target(args: Arguments, message: MessageExt) -> str:
    if args.into is None:
        return RETRY_PREFIX + args.group
    if args.into != TO_ORIGIN:
        return args.into
    return origin_topic(message) or RETRY_PREFIX + args.group


async def _send(
    producer: Producer, args: Arguments, found: list[MessageExt], tally: Tally
) -> AsyncIterator[Row]:
    pace = Pace(args.rate)
    for message in found:
        await pace.turn()
        target = _target(args, message)
        system = {}
        if target.startswith(RETRY_PREFIX):
            # Consumers show a retried message under this topic, and to its listener only.
            system = {
                RETRY_TOPIC: origin_topic(message) or topic_of(args.group),
                ORIGIN_MESSAGE_ID: message.properties.get(ORIGIN_MESSAGE_ID, message.msg_id),
            }
        try:
            row = await send_again(producer, message, topic=target, system=system)
        except ClientError as error:
            tally.failed += 1
            row = Again.of(message, target, status="failed", error=str(error))
        else:
            tally.sent += 1
        yield row
