"""Reset a group's offsets to a time (222), and ask its clients for their offsets (223).

    222: offset by time for each queue -> pushed (220) to every member, which then commits
         no member online              -> 206, and mqadmin sets the offsets itself (code 15)

Rule: as in Java, 222 does not change the broker's own offset table, because a consuming member
would overwrite it. The answer contains the new offsets.

Source: broker/client/net/Broker2Client.java#resetOffset, #getConsumeStatus.
"""

import logging
from collections.abc import Callable, Iterator
from functools import partial

from mqserver.broker.clients.client_requests import encode_notice, send_notice
from mqserver.broker.clients.members import ConsumerGroup, GroupMember
from mqserver.broker.cold_handler import read_each
from mqserver.broker.state import MEMBERS_PER_SLICE, Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import Steps, chunks, in_slices, large
from remoting.bodies import (
    GetConsumerStatusBody,
    MessageQueue,
    MessageQueueForC,
    ResetOffsetBody,
    ResetOffsetBodyForC,
)
from remoting.codes import LanguageCode, RequestCode, ResponseCode
from remoting.command import UNSET_REMARK, Command
from remoting.errors import BadBody
from remoting.headers import GetConsumerStatus, ResetOffset

LOG = logging.getLogger(__name__)

TO_THE_END = -1
RESET_VERSION_MIN = 28
"""MQVersion V3_0_7_SNAPSHOT, the first version of clients that handles the push."""
STATUS_WAIT_MS = 5_000
QUEUES_PER_SLICE = 1_000


@handles(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET)
@in_slices
def reset_offset(broker: Broker, request: Request) -> Steps[Command]:
    """Compute a group's offsets for a time and push them to its members."""
    fields = request.command.header(ResetOffset)
    topic = broker.topics.get(fields.topic)
    if topic is None:
        text = "[reset-offset] reset offset failed, no topic in this broker. "
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"{text}topic={fields.topic}")
    table = yield from _table(broker, fields, topic.write_queue_nums)
    if table is None:
        raise RequestRefused(
            ResponseCode.SYSTEM_ERROR, f"THe consumer group <{fields.group}> not exist"
        )
    group = broker.consumers.group(fields.group)
    if group is None:
        raise RequestRefused(
            ResponseCode.CONSUMER_NOT_ONLINE,
            "Consumer not online, so can not reset offset, "
            f"Group: {fields.group} Topic: {fields.topic} Timestamp: {fields.timestamp}",
        )
    _check_versions(group)
    body = yield from large(ResetOffsetBody(offset_table=table).encode, count=len(table))
    pushed = body
    if request.command.language == LanguageCode.CPP:
        pushed = yield from large(partial(_for_c, table), count=len(table))
    header = ResetOffset(topic=fields.topic, group=fields.group, timestamp=fields.timestamp)
    frame = encode_notice(
        Command.request(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, header, body=pushed)
    )
    for members in chunks(list(group.members), MEMBERS_PER_SLICE):
        yield None
        for conn in members:
            send_notice(conn, frame)
    return request.command.response(remark=UNSET_REMARK, body=body)


def _table(
    broker: Broker, fields: ResetOffset, queue_count: int
) -> Steps[dict[MessageQueue, int] | None]:
    """Return the new offset of every queue; None if the group lacks an offset in one of them."""
    reached = broker.offsets.queues(fields.group, fields.topic)
    if any(queue_id not in reached for queue_id in range(queue_count)):
        return None

    def target_in(queue_id: int) -> int:
        if fields.timestamp == TO_THE_END:
            return broker.store.max_offset(fields.topic, queue_id)
        return broker.store.reader.offset_by_time(fields.topic, queue_id, fields.timestamp)

    table = {}
    queue_ids = range(queue_count)
    targets = yield from read_each(broker, (partial(target_in, queue_id) for queue_id in queue_ids))
    for queue_id, target in enumerate(targets):
        queue = MessageQueue(
            topic=fields.topic, broker_name=broker.config.broker_name, queue_id=queue_id
        )
        moves = fields.is_force or target < reached[queue_id]
        table[queue] = max(0, target) if moves else reached[queue_id]
        if queue_id % QUEUES_PER_SLICE == 0:
            yield None
    return table


def _for_c(table: dict[MessageQueue, int]) -> bytes:
    rows = [
        MessageQueueForC(
            topic=queue.topic,
            broker_name=queue.broker_name,
            queue_id=queue.queue_id,
            offset=queue_offset,
        )
        for queue, queue_offset in table.items()
    ]
    return ResetOffsetBodyForC(offset_table=rows).encode()


def _check_versions(group: ConsumerGroup) -> None:
    for member in group.members.values():
        if member.version < RESET_VERSION_MIN:
            text = f"the client does not support this feature. version={member.version}"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)


@handles(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS)
def get_consumer_status(broker: Broker, request: Request) -> None:
    """Ask all members of a group, or one of them, for their current offsets in a topic."""
    fields = request.command.header(GetConsumerStatus)
    group = broker.consumers.group(fields.group)
    if group is None:
        raise RequestRefused(
            ResponseCode.SYSTEM_ERROR,
            f"No Any Consumer online in the consumer group: [{fields.group}]",
        )
    _check_versions(group)
    client_id = (fields.client_addr or "").strip()
    members = [member for member in group.members.values() if client_id in ("", member.client_id)]
    _ask_all(broker, request, fields, members)


def _ask_all(
    broker: Broker, request: Request, fields: GetConsumerStatus, members: list[GroupMember]
) -> None:
    tables: dict[str, dict[MessageQueue, int]] = {}
    missing = len(members)

    def finish() -> None:
        body = GetConsumerStatusBody(consumer_table=tables)
        request.reply(request.command.response(remark=UNSET_REMARK, body=body.encode()))

    def take(member: GroupMember) -> Callable[[Command | None], None]:
        def answered(answer: Command | None) -> None:
            nonlocal missing
            missing -= 1
            if answer is not None and answer.code == ResponseCode.SUCCESS and answer.body:
                try:
                    status = GetConsumerStatusBody.decode(answer.body)
                    tables[member.client_id] = status.message_queue_table
                except BadBody as error:
                    # As in Java, the answers of the other members are still returned.
                    LOG.warning("%s of group %s: %s", member.client_id, fields.group, error)
            if missing == 0:
                finish()

        return answered

    if not members:
        finish()
    header = GetConsumerStatus(topic=fields.topic, group=fields.group)

    def ask_in_slices() -> Iterator[None]:
        for part in chunks(members, MEMBERS_PER_SLICE):
            for member in part:
                broker.calls.call(
                    member.conn,
                    Command.request(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, header),
                    deadline_ms=request.now_ms + STATUS_WAIT_MS,
                    answered=take(member),
                )
            yield

    broker.slices.later_all(ask_in_slices())
