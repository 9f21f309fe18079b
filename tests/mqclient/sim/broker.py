"""A simulated broker with queues, groups, offsets, locks and retries, which checks its clients.

Rule: it is simple enough to be right, and knows nothing of ``server``. It checks each commit
against what listeners have finished: a position that passes a message nobody has finished
would lose that message in a crash.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable

from remoting import headers
from remoting.bodies import (
    HeartbeatData,
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    UnlockBatchRequestBody,
)
from remoting.bodies.tables import GetConsumerListByGroupResponseBody
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from storefmt.formats.properties import RETRY_TOPIC, format_properties, parse_properties
from tests.mqclient.sim.network import Network, SimClient
from tests.records import record_bytes

LOCK_LIFE_MS = 60_000
MEMBER_LIFE_MS = 120_000
RETRY = "%RETRY%"


class SimBroker:
    """One broker with some topics.

    Attributes:
        finished: by queue, the queue offsets that a listener has finished or given back.
        faults: what must not happen, as text.
        peers: all brokers: a message can come back by another than it came from.
    """

    def __init__(self, network: Network, name: str) -> None:
        self.network = network
        self.name = name
        self.address = f"{name}:10911"
        self.queues: defaultdict[MessageQueue, list[tuple[bytes, dict[str, str]]]]
        self.queues = defaultdict(list)
        self.topics: dict[str, int] = {}
        self.positions: dict[tuple[str, MessageQueue], int] = {}
        self.locks: dict[tuple[str, MessageQueue], tuple[str, int]] = {}
        self.members: defaultdict[str, dict[str, tuple[SimClient, int]]] = defaultdict(dict)
        self.finished: defaultdict[MessageQueue, set[int]] = defaultdict(set)
        self.faults: list[str] = []
        self.peers: list[SimBroker] = [self]
        self._places: list[MessageQueue] = []
        self._arrived = asyncio.Event()
        self.start()

    def start(self) -> None:
        """Be reachable; members and locks of before are forgotten, as in a restart."""
        self.members.clear()
        self.locks.clear()
        self.network.servers[self.address] = self.serve

    def stop(self) -> None:
        """Be gone."""
        self.network.servers.pop(self.address, None)

    def put(self, topic: str, queue_id: int, body: bytes, **properties: str) -> None:
        """Store a message."""
        self.queues[MessageQueue(topic, self.name, queue_id)].append((body, properties))
        self._arrived.set()
        self._arrived = asyncio.Event()

    def all_queues(self, topic: str) -> list[MessageQueue]:
        """Return the queues of a topic."""
        return [MessageQueue(topic, self.name, number) for number in range(self.topics[topic])]

    async def serve(self, client: SimClient, request: Command) -> Command | None:
        """Answer one request."""
        return await _SERVES[request.code](self, client, request)

    # Requests.

    async def heartbeat(self, client: SimClient, request: Command) -> Command | None:
        for data in HeartbeatData.decode(request.body).consumer_data_set:
            known = self.members[data.group_name]
            new = client.client_id not in known
            known[client.client_id] = (client, self.network.loop.now_ms())
            self.topics.setdefault(RETRY + data.group_name, 1)
            if new:
                self._members_changed(data.group_name)
        return request.response()

    async def unregister(self, client: SimClient, request: Command) -> Command | None:
        group = request.header(headers.UnregisterClient).consumer_group or ""
        if self.members[group].pop(client.client_id, None):
            self._members_changed(group)
        return request.response()

    async def member_list(self, client: SimClient, request: Command) -> Command | None:
        group = request.header(headers.GetConsumerListByGroup).consumer_group
        oldest_ms = self.network.loop.now_ms() - MEMBER_LIFE_MS
        live = {
            client_id: seen
            for client_id, seen in self.members[group].items()
            if seen[1] > oldest_ms
        }
        self.members[group] = live
        if not live:
            return request.response(ResponseCode.SYSTEM_ERROR, remark="no consumer for this group")
        body = GetConsumerListByGroupResponseBody(consumer_id_list=list(live))
        return request.response(body=body.encode())

    async def position(self, client: SimClient, request: Command) -> Command | None:
        header = request.header(headers.QueryConsumerOffset)
        queue = MessageQueue(header.topic, self.name, header.queue_id)
        at = self.positions.get((header.consumer_group, queue))
        if at is None:
            return request.response(ResponseCode.QUERY_NOT_FOUND)
        return request.response(header=headers.QueryConsumerOffsetResponse(offset=at))

    async def commit(self, client: SimClient, request: Command) -> Command | None:
        header = request.header(headers.UpdateConsumerOffset)
        queue = MessageQueue(header.topic, self.name, header.queue_id)
        self._committed(client, header.consumer_group, queue, header.commit_offset)
        return request.response()

    async def min_offset(self, client: SimClient, request: Command) -> Command | None:
        return request.response(header=headers.GetMinOffsetResponse(offset=0))

    async def max_offset(self, client: SimClient, request: Command) -> Command | None:
        header = request.header(headers.GetMaxOffset)
        queue = MessageQueue(header.topic, self.name, header.queue_id)
        return request.response(header=headers.GetMaxOffsetResponse(offset=len(self.queues[queue])))

    async def pull(self, client: SimClient, request: Command) -> Command | None:
        header = request.header(headers.PullMessage)
        queue = MessageQueue(header.topic, self.name, header.queue_id)
        if header.sys_flag & 1:
            self._committed(client, header.consumer_group, queue, header.commit_offset)
        stored = self.queues[queue]
        if len(stored) <= header.queue_offset:
            arrived = self._arrived
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(arrived.wait(), header.suspend_timeout_millis / 1000)
        first = header.queue_offset
        code = ResponseCode.PULL_NOT_FOUND
        end = first
        body = b""
        if first > len(stored):
            code, end = ResponseCode.PULL_OFFSET_MOVED, len(stored)
        elif first < len(stored):
            code, end = ResponseCode.SUCCESS, min(len(stored), first + header.max_msg_nums)
            body = b"".join(self._record(queue, number) for number in range(first, end))
        ends = headers.PullMessageResponse(
            suggest_which_broker_id=0, next_begin_offset=end, min_offset=0, max_offset=len(stored)
        )
        return request.response(code, header=ends, body=body)

    async def lock(self, client: SimClient, request: Command) -> Command | None:
        body = LockBatchRequestBody.decode(request.body)
        now_ms = self.network.loop.now_ms()
        granted = []
        for queue in body.mq_set:
            owner, locked_ms = self.locks.get((body.consumer_group, queue), ("", 0))
            if owner in ("", body.client_id) or now_ms - locked_ms > LOCK_LIFE_MS:
                self.locks[body.consumer_group, queue] = (body.client_id, now_ms)
                granted.append(queue)
        return request.response(body=LockBatchResponseBody(lock_ok_mq_set=granted).encode())

    async def unlock(self, client: SimClient, request: Command) -> Command | None:
        body = UnlockBatchRequestBody.decode(request.body)
        for queue in body.mq_set:
            if self.locks.get((body.consumer_group, queue), ("", 0))[0] == body.client_id:
                del self.locks[body.consumer_group, queue]
        return request.response()

    async def give_back(self, client: SimClient, request: Command) -> Command | None:
        header = request.header(headers.ConsumerSendMsgBack)
        queue, number = self._place(header.offset)
        body, properties = self.queues[queue][number]
        self.finished[queue].add(number)
        again = {**properties, RETRY_TOPIC: properties.get(RETRY_TOPIC, queue.topic)}
        self.put(RETRY + header.group, 0, body, **again)
        return request.response()

    async def send(self, client: SimClient, request: Command) -> Command | None:
        """Store a message that its own broker did not take back."""
        properties = parse_properties(request.ext["i"])
        for broker in self.peers:
            for queue, stored in broker.queues.items():
                broker.finished[queue].update(
                    number for number, (body, _) in enumerate(stored) if body == request.body
                )
        self.put(request.ext["b"], 0, request.body, **properties)
        answer = headers.SendMessageResponse(msg_id="0", queue_id=0, queue_offset=0)
        return request.response(header=answer)

    # Inside.

    def _committed(self, client: SimClient, group: str, queue: MessageQueue, at: int) -> None:
        self.positions[group, queue] = at
        open_ones = sorted(set(range(at)) - self.finished[queue])
        if open_ones:
            self.faults.append(
                f"{client.name} committed {at} of {queue}, nobody finished {open_ones[:5]}"
            )

    def _members_changed(self, group: str) -> None:
        for client, _ in self.members[group].values():
            notice = Command.request(
                RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
                headers.NotifyConsumerIdsChanged(consumer_group=group),
                oneway=True,
            )
            task = asyncio.ensure_future(client.told(self.address, notice))
            _NOTICES.add(task)
            task.add_done_callback(_NOTICES.discard)

    def _record(self, queue: MessageQueue, number: int) -> bytes:
        body, properties = self.queues[queue][number]
        return record_bytes(
            topic=queue.topic.encode(),
            queue_id=queue.queue_id,
            queue_offset=number,
            log_offset=self._log_offset(queue, number),
            born_ms=0,
            store_ms=0,
            reconsume_times=1 if RETRY_TOPIC in properties else 0,
            body=body,
            properties=format_properties(properties).encode(),
        )

    # A log offset here only has to lead back to the message.

    def _log_offset(self, queue: MessageQueue, number: int) -> int:
        if queue not in self._places:
            self._places.append(queue)
        return self._places.index(queue) * 1_000_000 + number

    def _place(self, log_offset: int) -> tuple[MessageQueue, int]:
        place, number = divmod(log_offset, 1_000_000)
        return self._places[place], number


_NOTICES: set[asyncio.Future[None]] = set()
_SERVES: dict[int, Callable[..., object]] = {
    RequestCode.HEART_BEAT: SimBroker.heartbeat,
    RequestCode.UNREGISTER_CLIENT: SimBroker.unregister,
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: SimBroker.member_list,
    RequestCode.QUERY_CONSUMER_OFFSET: SimBroker.position,
    RequestCode.UPDATE_CONSUMER_OFFSET: SimBroker.commit,
    RequestCode.GET_MIN_OFFSET: SimBroker.min_offset,
    RequestCode.GET_MAX_OFFSET: SimBroker.max_offset,
    RequestCode.PULL_MESSAGE: SimBroker.pull,
    RequestCode.LOCK_BATCH_MQ: SimBroker.lock,
    RequestCode.UNLOCK_BATCH_MQ: SimBroker.unlock,
    RequestCode.CONSUMER_SEND_MSG_BACK: SimBroker.give_back,
    RequestCode.SEND_MESSAGE_V2: SimBroker.send,
}
