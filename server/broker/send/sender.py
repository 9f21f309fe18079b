"""Check a message that a producer sends, and store the record that it becomes.

    checks (in Java's order, with Java's texts) -> topic created if allowed
      -> properties recoded
      -> a retry that reached its maximum? -> dead letter topic
      -> transactional (TRAN_MSG)? -> half topic; otherwise delayed? -> schedule topic
      -> store.put -> the answer waits for the group commit (``Turn``)

Rule: the cost of a send is decided here. Everything that is the same for all sends to a topic is
cached in a ``Route`` and dropped when any topic changes; a send handles only its own fields.

Source: broker/processor/AbstractSendMessageProcessor.java#msgCheck,
SendMessageProcessor.java, store/DefaultMessageStore.java#checkMessage.
"""

import logging
from collections import deque
from collections.abc import Generator, Iterator, Mapping

from remoting.aio.server import ServerConn
from remoting.codes import ResponseCode, SerializeType
from remoting.fast_path import SendV2
from server.broker import names
from server.broker.clients.groups import Groups
from server.broker.config import BrokerConfig
from server.broker.delay.schedule import DelayLevels, redirect
from server.broker.files.saves import SavedFirst, StateFiles
from server.broker.send.batches import RUN_COUNT_MAX, read_batch
from server.broker.send.send_forms import SendForms, stored
from server.broker.send.topic_rules import Route, Routes, SendFields, choose_queue
from server.broker.serving.answers import SendAnswers
from server.broker.serving.group_commit import Sink, Turn
from server.broker.serving.overload import store_refuses
from server.broker.stats.counters import Statistics
from server.broker.stored_properties import Recoder
from server.broker.topics import Topics
from server.broker.transaction.half_messages import is_prepared, prepare
from server.runtime.clock import Clock
from server.runtime.request import RequestRefused
from server.runtime.slices import Slices
from server.store.results import PutMessage, PutResult, PutRun, PutStatus, RunMessage, RunResult
from server.store.store import MessageStore
from storefmt.formats.properties import (
    DELAY,
    PROPERTIES_SIZE_MAX,
)
from storefmt.formats.sysflag import TRANSACTION_COMMIT, TRANSACTION_MASK

LOG = logging.getLogger(__name__)

_OK = PutStatus.PUT_OK
_JSON = int(SerializeType.JSON)
IS_SLAVE = "this broker is a slave"
_TOO_MANY_LIGHT_QUEUES = (
    "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]broker config enableLmq and enableMultiDispatch, lmq "
    "consumeQueue num exceed maxLmqConsumeQueueNum config num, default limit 2w."
)


class Sender:
    """Handles the sends to one broker.

    Args:
        store: stores the messages.
        config: the settings.
        topics: the topics, which sends may create.
        groups: the settings of consumer groups.
        levels: the delay of each level.
        stats: counts what is stored.
        turn: the group commit, which sends the answers.
        files: saves topics.json.
        answers: formats the answers.
        store_host: packed host of this broker.
        clock: gives the time of each run of a large batch.
        slices: runs large batches in slices.
    """

    def __init__(
        self,
        store: MessageStore,
        *,
        config: BrokerConfig,
        topics: Topics,
        groups: Groups,
        levels: DelayLevels,
        stats: Statistics,
        turn: Turn,
        files: StateFiles,
        answers: SendAnswers,
        store_host: bytes,
        clock: Clock,
        slices: Slices,
    ) -> None:
        self._store = store
        self._config = config
        self._topics = topics
        self._groups = groups
        self._levels = levels
        self._stats = stats
        self._turn = turn
        self._files = files
        self._overload = turn.overload
        self._answers = answers
        self._store_host = store_host
        self._clock = clock
        self._slices = slices
        self._recoder = Recoder(config.broker_cluster_name)
        self.forms = SendForms(self._recoder)
        self.refusal = ""
        """Why this broker takes no messages although it is a master; empty when it takes them."""
        self._routes = Routes(
            config=config,
            topics=topics,
            stats=stats,
            refusal=self._role_refusal,
        )
        self.settings_changed()

    def settings_changed(self) -> None:
        """Apply the settings as they are now."""
        self._body_size_max = self._config.store.max_message_size
        self._illegal = (
            "the message is illegal, maybe msg body or properties length not matched. msg body "
            f"length limit {self._body_size_max}B, msg properties length limit 32KB."
        )
        self.forget_routes()

    def _role_refusal(self) -> str:
        """Return why a broker of this role stores no messages; empty when it stores them."""
        if self._config.is_slave:
            return store_refuses(self._store, IS_SLAVE)
        return self.refusal

    def forget_routes(self) -> None:
        """Drop every cached route; call it when any topic has changed."""
        self._routes.forget()

    def close(self) -> None:
        """Refuse every message of a client from now on."""
        self._routes.close()

    def take(
        self, conn: ServerConn, send: SendV2, *, body: bytes, serialize: int, now_ms: int
    ) -> None:
        """Store the message or batch of a request; the answer leaves when it is safe on disk.

        Args:
            conn: the connection of the producer.
            send: the header of the request.
            body: the body of the message, or the messages of a batch.
            serialize: serialization code of the request and so of its answer.
            now_ms: store time of a single message.
        """
        try:
            if self._overload.refusal:
                raise RequestRefused(ResponseCode.SYSTEM_BUSY, self._overload.refusal)
            route = self._routes.get(send.topic)
            queue_id = send.queue_id
            if route is None or not 0 <= queue_id < route.queue_limit:
                route, queue_id = self.aim(conn, send, now_ms)
            if send.batch:
                self._take_batch(conn, send._replace(queue_id=queue_id), body, serialize)
                return
            found = self._put_one(conn, send, route, body, queue_id, now_ms)
        except RequestRefused as refused:
            self._refuse(conn, send, serialize, refused)
        else:
            self._acknowledge(conn, send, serialize, route, queue_id, *found)

    def _refuse(
        self, conn: ServerConn, send: SendV2, serialize: int, refused: RequestRefused
    ) -> None:
        if not send.is_oneway:
            answer = self._answers.refused(
                serialize, send.opaque, code=refused.code, remark=refused.remark
            )
            conn.send(answer)

    def _acknowledge(
        self,
        conn: ServerConn,
        send: SendV2,
        serialize: int,
        route: Route,
        queue_id: int,
        queue_offset: int,
        message_id: str,
        waits: bool,
    ) -> None:
        """Queue the answer; the group commit sends it when the message is safe."""
        if send.is_oneway:
            self._turn.schedule()
            return
        opaque = send.opaque
        answer = self._answers.stored(
            serialize, opaque, queue_id=queue_id, queue_offset=queue_offset, message_id=message_id
        )
        sink: Sink = conn
        if self._topics.unsaved and self._is_unsaved(route):
            sink = SavedFirst(conn, self._files, "topics")
        self._turn.ack(sink, answer, opaque=opaque, serialize=serialize, waits=waits)

    def _is_unsaved(self, route: Route) -> bool:
        """Tell whether a topic that a message of this route is stored in is not in topics.json."""
        unsaved = self._topics.unsaved
        if route.topic in unsaved:
            return True
        return route.retry_group is not None and names.dlq_topic(route.retry_group) in unsaved

    def take_known(self, conn: ServerConn, header: bytes, body: bytes, now_ms: int) -> bool:
        """Store one message as ``take`` does, if its header matches a known form.

        Args:
            conn: the connection of the producer.
            header: the JSON header of the request, as bytes.
            body: the body of the message.
            now_ms: store time of the message.

        Returns:
            False if nothing was done; the caller then uses ``take``, which stores the message or
            refuses it with a reason.
        """
        found = self.forms.find(header)
        if found is None or self._overload.refusal:
            return False
        form, values = found
        route = self._routes.get(form.topic)
        queue_id = int(values[0])
        if route is None or queue_id >= route.queue_limit or route.retry_group is not None:
            return False
        properties, code, keys, waits = stored(form, values)
        if len(body) > self._body_size_max or len(properties) > PROPERTIES_SIZE_MAX:
            return False
        status, queue_offset, log_offset, size = self._store.append(
            route.topic, route.topic_bytes, queue_id, body, properties, form.flag,
            form.sys_flag | route.sys_flag, int(values[1]), conn.peer_host, self._store_host, 0, 0,
            code, keys, now_ms,
        )  # fmt: skip
        if status is not _OK:
            return False
        # This is ``count`` without the cost of a call.
        nums, sizes = route.put_nums, route.put_size
        nums.sum += 1
        nums.times += 1
        sizes.sum += size
        sizes.times += 1
        opaque = values[-1]
        answer = self._answers.stored_known(
            opaque, queue_id=values[0], queue_offset=queue_offset, log_offset=log_offset
        )
        self._turn.ack(conn, answer, opaque=int(opaque), serialize=_JSON, waits=waits)
        return True

    def aim(self, conn: ServerConn, send: SendFields, now_ms: int) -> tuple[Route, int]:
        """Return the route of a send and the id of the queue that it goes to.

        Raises:
            RequestRefused: the topic or the queue does not accept sends.
        """
        route = self._routes.get(send.topic) or self._routes.make(conn, send, now_ms)
        queue_id = send.queue_id
        if not 0 <= queue_id < route.queue_limit:
            queue_id = choose_queue(conn, queue_id, route)
        return route, queue_id

    def message_id(self, log_offset: int) -> str:
        """Return the offset id of a message at ``log_offset``."""
        return self._answers.message_id(log_offset)

    def put(self, message: PutMessage, *, now_ms: int) -> PutResult:
        """Put a message that the broker itself made; the caller schedules the commit or waits.

        Raises:
            RequestRefused: the store does not accept the message.
        """
        result = self._store.put(message, now_ms)
        self._check(result.status)
        return result

    def deliver(self, message: PutMessage, *, now_ms: int) -> PutResult:
        """Put a delayed or transactional message of a client, and count it for its topic.

        Raises:
            RequestRefused: the store does not accept the message.
        """
        result = self.put(message, now_ms=now_ms)
        self._stats.count_put(message.topic, result.size)
        return result

    def _put_one(
        self,
        conn: ServerConn,
        send: SendV2,
        route: Route,
        body: bytes,
        queue_id: int,
        now_ms: int,
    ) -> tuple[int, str, bool]:
        """Return queue offset, message id and whether the producer waits for the disk."""
        # Unpacking the tuple once takes a third of the time of reading the fields by name.
        _, _, _, _, _, _, _, _, sys_flag, born_ms, flag, text, reconsume_times, _, _, _ = send
        data, code, keys, waits, named = self._recoder.recode(text)
        if sys_flag & TRANSACTION_MASK and not is_prepared(named):
            self._warn_of_flag(conn, sys_flag)
        if len(body) > self._body_size_max or len(data) > PROPERTIES_SIZE_MAX:
            self._stats.put_failed_count += 1
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, self._illegal)
        fields = (
            route.topic, route.topic_bytes, queue_id, body, data, flag, sys_flag | route.sys_flag,
            born_ms, conn.peer_host, self._store_host, reconsume_times or 0, 0, code, keys,
        )  # fmt: skip
        if route.retry_group is None and named is None:
            result = self._store.append(*fields, now_ms)
        else:
            message = PutMessage(*fields)
            if route.retry_group is not None:
                self._give_up(message, send, route.retry_group, now_ms)
            if named is not None:
                self._act_on(message, named, now_ms)
            result = self._store.put(message, now_ms)
            if message.topic is not route.topic and result.status is _OK:
                # Count it for the topic it waits or ended in. A message that waits is counted
                # for its own topic when it is delivered.
                self._stats.count_put(message.topic, result.size)
                return result.queue_offset, self._answers.message_id(result.log_offset), waits
        status, queue_offset, log_offset, size = result
        if status is not _OK:
            self._check(status)
        # This is ``count`` without the cost of a call.
        nums, sizes = route.put_nums, route.put_size
        nums.sum += 1
        nums.times += 1
        sizes.sum += size
        sizes.times += 1
        return queue_offset, self._answers.message_id(log_offset), waits

    def _take_batch(self, conn: ServerConn, send: SendV2, body: bytes, serialize: int) -> None:
        """Store a batch: a small one at once, a large one in runs between other requests.

        Raises:
            RequestRefused: the body is not a batch, or the batch is too large, delayed or
                transactional.
        """
        ends = self._recoder.batch_suffix(send.properties)
        if len(body) > self._body_size_max or ends.is_delayed or send.sys_flag & TRANSACTION_MASK:
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, self._illegal)
        runs = read_batch(body, ends=ends, recoder=self._recoder, illegal=self._illegal)
        first = next(runs)
        steps = self._take_runs(conn, send, serialize, first, runs, waits=ends.waits)
        if len(first) < RUN_COUNT_MAX:
            deque(steps, maxlen=0)
        else:
            self._slices.later_all(_keeping(conn, len(body), steps))

    def _take_runs(
        self,
        conn: ServerConn,
        send: SendV2,
        serialize: int,
        first: list[RunMessage],
        others: Iterator[list[RunMessage]],
        *,
        waits: bool,
    ) -> Generator[None, None, None]:
        """Read the rest of a batch, then store it, with one run in each slice.

        Other messages may be stored between two runs, so each run gets its own store time.
        Nothing is stored before the whole batch is read. A batch is stored in part only when the
        store stops taking messages; the answer then is the same as if nothing were stored.
        """
        runs = [first]
        codes: list[ResponseCode] = []
        log_offsets: list[int] = []
        try:
            for run in others:
                yield
                runs.append(run)
            queue_offset, put_size = -1, 0
            for run in runs:
                if log_offsets:
                    self._turn.when_safe(codes.append)
                    yield
                if ResponseCode.SERVICE_NOT_AVAILABLE in codes:
                    self._check(PutStatus.SERVICE_NOT_AVAILABLE)
                now_ms = self._clock.now_ms()
                route, queue_id = self.aim(conn, send, now_ms)
                put = self._put_run(conn, send, route, queue_id, run, now_ms)
                queue_offset = put.queue_offset if queue_offset < 0 else queue_offset
                put_size += put.size
                log_offsets += put.log_offsets
        except RequestRefused as refused:
            self._refuse(conn, send, serialize, refused)
        else:
            self.count(route, len(log_offsets), put_size)
            message_id = self._answers.message_ids(log_offsets)
            self._acknowledge(
                conn, send, serialize, route, queue_id, queue_offset, message_id, waits
            )

    def _put_run(
        self,
        conn: ServerConn,
        send: SendV2,
        route: Route,
        queue_id: int,
        messages: list[RunMessage],
        now_ms: int,
    ) -> RunResult:
        run = PutRun(
            route.topic,
            route.topic_bytes,
            queue_id,
            send.sys_flag | route.sys_flag,
            send.born_timestamp,
            conn.peer_host,
            self._store_host,
            send.reconsume_times or 0,
            messages,
        )
        result = self._store.put_run(run, now_ms)
        if result.status is not _OK:
            self._check(result.status)
        return result

    def _give_up(self, message: PutMessage, send: SendV2, group: str, now_ms: int) -> None:
        """Send a message to the dead letter topic if it reached its maximum of retries."""
        found = self._groups.find(group, now_ms=now_ms)
        if found is None:
            text = names.see_faq(f"subscription group not exist, {group} ")
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, text)
        most = found.retry_max_times
        if send.max_reconsume_times is not None:
            most = send.max_reconsume_times
        if (send.reconsume_times or 0) >= most:
            dead = self._topics.create_for_group(
                names.dlq_topic(group), queue_count=1, now_ms=now_ms
            )
            message.topic, message.topic_bytes = dead.topic_name, dead.topic_name.encode()
            message.queue_id = 0

    def _act_on(self, message: PutMessage, named: Mapping[str, str], now_ms: int) -> None:
        """Redirect a message whose properties ask for a transaction or a delay."""
        if is_prepared(named):
            self._prepare(message, named)
            return
        level = self._levels.level_of(named.get(DELAY, "0"))
        if level > 0:
            redirect(
                message, named, level=level, delay_ms=self._levels.delay_ms(level), now_ms=now_ms
            )
            self._check_properties(message)

    def _prepare(self, message: PutMessage, named: Mapping[str, str]) -> None:
        if self._config.reject_transaction_message:
            text = f"the broker[{self._config.broker_ip1}] sending transaction message is forbidden"
            raise RequestRefused(ResponseCode.NO_PERMISSION, text)
        # The delay begins with the commit; here the level is only checked.
        self._levels.level_of(named.get(DELAY, "0"))
        prepare(message, named)
        self._check_properties(message)

    def _check_properties(self, message: PutMessage) -> None:
        if len(message.properties) > PROPERTIES_SIZE_MAX:
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, self._illegal)

    @staticmethod
    def _warn_of_flag(conn: ServerConn, sys_flag: int) -> None:
        """Log that a message has a transaction flag but no TRAN_MSG; it is stored, as in Java."""
        if sys_flag & TRANSACTION_MASK != TRANSACTION_COMMIT:
            LOG.warning(
                "%s sends a message with the transaction flag and without TRAN_MSG; it is stored, "
                "and no consumer will see it, as in Java", conn.address,
            )  # fmt: skip

    def count(self, route: Route, count: int, size: int) -> None:
        """Count messages that were put for clients."""
        nums, sizes = route.put_nums, route.put_size
        nums.sum += count
        nums.times += 1
        sizes.sum += size
        sizes.times += 1

    def _check(self, status: PutStatus) -> None:
        """Raise ``RequestRefused`` with Java's code and text when a message was not put."""
        match status:
            case PutStatus.PUT_OK:
                return
            case PutStatus.SERVICE_NOT_AVAILABLE:
                # Java does not count these as failed puts, because nothing was tried.
                why = self._store.failure or "shut down"
                text = self._role_refusal() or store_refuses(self._store, why)
                raise RequestRefused(ResponseCode.SERVICE_NOT_AVAILABLE, text)
            case _:
                self._stats.put_failed_count += 1
        match status:
            case PutStatus.MESSAGE_ILLEGAL | PutStatus.PROPERTIES_SIZE_EXCEEDED:
                raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, self._illegal)
            case PutStatus.CREATE_MAPPED_FILE_FAILED:
                text = "create mapped file failed, server is busy or broken."
                if self._store.failure:
                    text = f"{self._store.failure}; {text}"
                raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)
            case PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED:
                raise RequestRefused(ResponseCode.SYSTEM_ERROR, _TOO_MANY_LIGHT_QUEUES)
            case PutStatus.OS_PAGE_CACHE_BUSY:
                text = "[PC_SYNCHRONIZED]broker busy, start flow control for a while"
                raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)
            case _:
                raise RequestRefused(ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR")


def _keeping(conn: ServerConn, size: int, steps: Iterator[None]) -> Iterator[None]:
    """Yield from ``steps``; until their end ``size`` bytes count as in flight for ``conn``."""
    conn.keep(size)
    try:
        yield from steps
    finally:
        conn.keep(-size)
