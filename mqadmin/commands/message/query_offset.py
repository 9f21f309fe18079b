"""``message query offset``: the message at a place of a queue.

Requests: GET_ROUTEINFO_BY_TOPIC, PULL_MESSAGE.
"""

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import no_body_option, topic_argument
from mqadmin.cli.types import BROKER, QUEUE, Integer
from mqadmin.cluster.brokers import choose_queue, queue_number
from mqadmin.errors import NotFound
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow, row_of
from mqadmin.messages.track import with_tracks
from mqadmin.output.rows import Outcome, one
from mqadmin.session.call import Call
from mqclient.consumer.pull_consumer import PullConsumer
from storefmt.names import TOOLS_GROUP


@command(
    "message query offset",
    examples=(("mqadmin message query offset orders broker-a:3 17", "entry 17 of queue 3"),),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
)
@topic_argument()
@click.argument("queue", type=QUEUE, metavar="QUEUE", help="the queue")
@click.argument(
    "queue_offset", type=Integer(min=0), metavar="OFFSET", help="its place in the queue"
)
@click.option("--broker", type=BROKER, help="the broker, for a bare id")
@no_body_option
async def query_offset(
    call: Call, *, topic: str, queue: str, queue_offset: int, broker: str | None, no_body: bool
) -> Outcome:
    """Return the message.

    Raises:
        NotFound: the queue has no such entry; the error says which it has.
        NoRoute: there is no such topic.
    """
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.store.offline import stored_at

        return stored_at(call, topic, queue_number(queue), queue_offset, no_body=no_body)
    consumer = PullConsumer(await call.client(), TOOLS_GROUP)
    at = choose_queue(await consumer.queues(topic), queue, broker)
    pulled = await consumer.pull(at, queue_offset=queue_offset, count_max=1)
    for message in pulled.messages:
        if message.queue_offset == queue_offset:
            if call.settings.compat:
                # Java's tool also tells who has read the message.
                return Outcome(with_tracks(call, [message], pulled=pulled))
            return one(row_of(message, warn=call.warn, body=not no_body))
    raise NotFound(
        f"queue {at.broker_name}:{at.queue_id} of topic {topic} has no message at {queue_offset}",
        hint=f"it has {pulled.min_offset} to {pulled.max_offset - 1}"
        if pulled.max_offset > pulled.min_offset
        else "it is empty",
    )
