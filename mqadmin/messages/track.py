"""Which groups have read a message, in the words of RocketMQ's own tool: for ``--compat``.

    UNKNOWN                  the group was never online, or a broker did not say
    NOT_ONLINE               it has no connected members
    PULL                     its members fetch messages themselves
    CONSUMED                 its offset is behind the message
    CONSUMED_BUT_FILTERED    the same, and it does not subscribe to the tag
    NOT_CONSUME_YET          its offset is before the message

Source: tools/admin/DefaultMQAdminExtImpl.java#messageTrackDetail (4.9.7).
"""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mqadmin.messages.message_rows import row_of
from mqadmin.messages.pulls import with_ends
from mqadmin.messages.trace import groups_of
from mqadmin.output.rows import Row
from mqadmin.session.call import Call
from mqclient.client import routes
from mqclient.consumer.pull.pull_request import PullResult
from mqclient.errors import ClientError, NoRoute
from mqclient.message import MessageExt
from remoting.bodies import ConsumeType
from remoting.codes import ResponseCode
from storefmt.formats.javahash import string_hash
from storefmt.formats.javamaps import hash_order
from storefmt.names import RETRY_PREFIX

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin
    from remoting.bodies import ConsumerConnection

NO_ROUTE: Final = (
    "org.apache.rocketmq.client.exception.MQClientException: CODE: 17  DESC: No topic route info "
    "in name server for the topic: {topic}\n"
    "See http://rocketmq.apache.org/docs/faq/ for further details."
)


@dataclass(frozen=True, slots=True)
class Track(Row):
    """Whether a group has read a message; ``exception`` is why that is not known."""

    group: str
    track_type: str
    exception: str | None


async def with_tracks(
    call: Call, messages: Iterable[MessageExt], *, pulled: PullResult | None = None
) -> AsyncIterator[Row]:
    """Yield the row of each message, and behind it one of each group that reads its topic.

    Args:
        pulled: the pull that found them, whose ends Java's client adds to their properties.
    """
    admin = await call.admin()
    for message in messages:
        row = row_of(message, warn=call.warn)
        yield row if pulled is None else with_ends(row, pulled)
        for group in hash_order(await groups_of(admin, message.topic), string_hash):
            yield await _track(admin, message, group)


async def _track(admin: "Admin", message: MessageExt, group: str) -> Track:
    retry_topic = f"{RETRY_PREFIX}{group}"
    try:
        masters = routes.masters(await admin.topic_route(retry_topic))
        address = masters.get(message.broker_name) or next(iter(masters.values()))
        connection = await admin.consumer_connection(address, group)
        return Track(group, await _type(admin, message, group, connection), None)
    except NoRoute:
        return Track(group, "UNKNOWN", NO_ROUTE.format(topic=retry_topic))
    except ClientError as error:
        is_offline = error.code == ResponseCode.CONSUMER_NOT_ONLINE
        reason = f"CODE:{error.code} DESC:{error.remark}"
        return Track(group, "NOT_ONLINE" if is_offline else "UNKNOWN", reason)


async def _type(
    admin: "Admin", message: MessageExt, group: str, connection: "ConsumerConnection"
) -> str:
    if connection.consume_type is ConsumeType.CONSUME_ACTIVELY:
        return "PULL"
    stats = await admin.consume_stats(message.store_host, group)
    is_consumed = any(
        wrapper.consumer_offset > message.queue_offset
        for queue, wrapper in stats.offset_table.items()
        if (queue.topic, queue.queue_id) == (message.topic, message.queue_id)
    )
    if not is_consumed:
        return "NOT_CONSUME_YET"
    subscribed = connection.subscription_table.get(message.topic)
    tags = set(subscribed.tags_set or ()) if subscribed is not None else set()
    return "CONSUMED_BUT_FILTERED" if tags and not tags & {message.tags, "*"} else "CONSUMED"
