"""Check a message that a producer sends, and store the record that it becomes.

    header ─> route: topic, queue ─> checks ─> transform ─────> put ─> answer, at the group commit
                (topics may be created)          │
                                                 ├ batch            its messages, in runs
                                                 ├ retry            its last one: dead letter topic
                                                 ├ half (TRAN_MSG)  RMQ_SYS_TRANS_HALF_TOPIC
                                                 ├ delay (DELAY)    SCHEDULE_TOPIC_XXXX
                                                 └ timer (TIMER_*)  rmq_sys_wheel_timer

``handle_send`` is that line, and each word of it is a method or a function; ``refusals`` has the
answers to what was not put. The checks have Java's order and texts.

Rule: everything that is the same for all sends to a topic is cached in a ``Route`` and dropped
when any topic changes. Where the kernel was built, ``send_kernel`` takes plain sends before they
come here, with the same result.

Source: broker/processor/AbstractSendMessageProcessor.java#msgCheck,
SendMessageProcessor.java, store/DefaultMessageStore.java#checkMessage.
"""

import logging
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from mqserver.broker import names
from mqserver.broker.acl.access import BrokerAccess
from mqserver.broker.broker_context import BrokerContext
from mqserver.broker.delay.schedule import DelayLevels, redirect
from mqserver.broker.files.saves import SavedFirst, StateFiles
from mqserver.broker.send.batches import RUN_COUNT_MAX, read_batch
from mqserver.broker.send.refusals import illegal_remark, put_refusal
from mqserver.broker.send.topic_rules import (
    RETRY_TIMES_VERSION,
    STOPPING,
    Route,
    Routes,
    SendFields,
    choose_queue,
    send_fields,
)
from mqserver.broker.serving.answers import SendAnswers
from mqserver.broker.serving.group_commit import GroupCommit, Sink
from mqserver.broker.serving.overload import store_refusal
from mqserver.broker.stored_properties import Recoder
from mqserver.broker.timer.timer_messages import TimerRules, recall_handle
from mqserver.broker.topics import topic_config
from mqserver.broker.transaction.half_messages import is_prepared, prepare
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import Slices
from mqserver.store.results import PutMessage, PutResult, PutRun, PutStatus, RunMessage, RunResult
from remoting.aio.server import ServerConn
from remoting.codes import ResponseCode
from storefmt.formats.properties import CLUSTER, DELAY, PROPERTIES_SIZE_MAX, format_properties
from storefmt.formats.sysflag import TRANSACTION_COMMIT, TRANSACTION_MASK
from storefmt.names import TIMER_TOPIC

LOG = logging.getLogger(__name__)

_OK = PutStatus.PUT_OK
IS_SLAVE = "this broker is a slave"


class Kernel(Protocol):
    """What takes the plain sends of a read in one call, see ``send_kernel``."""

    def store_sends(self, conn: ServerConn, data: bytes, now_ms: int) -> int:
        """Store the messages of all plain sends at the beginning of ``data``.

        Args:
            conn: the connection of the producer.
            data: bytes of its stream, from the beginning of a frame on.
            now_ms: the store time.

        Returns:
            The number of bytes taken; the bytes after them go the general way.
        """


class Sender:
    """Handles the sends to one broker.

    Args:
        context: the parts of the broker; sends may create topics.
        levels: the delay of each level.
        group_commit: writes what was put, and sends the answers.
        files: saves topics.json.
        answers: formats the answers.
        slices: runs large batches in slices.
    """

    def __init__(
        self,
        context: BrokerContext,
        *,
        levels: DelayLevels,
        group_commit: GroupCommit,
        files: StateFiles,
        answers: SendAnswers,
        slices: Slices,
    ) -> None:
        config = context.config
        self._context = context
        self._config, self._store, self._store_host = config, context.store, context.store_host
        self._levels = levels
        self._group_commit = group_commit
        self._files = files
        self._overload = group_commit.overload
        self._answers = answers
        self._slices = slices
        self._recoder = Recoder(config.broker_cluster_name)
        self.timer_rules = TimerRules(config.store, self._have_timer_topic)
        """Decides which messages wait in the timer wheel."""
        self.refusal = ""
        """Why this master accepts no messages; empty when it accepts them."""
        self.is_open = True
        """Whether messages are accepted; not while the broker stops."""
        self._routes = Routes(context, refusal=self._role_refusal)
        self.apply_settings()

    def apply_settings(self) -> None:
        """Apply the settings as they are now."""
        self._body_size_max = self._config.store.max_message_size
        self._illegal = illegal_remark(self._body_size_max)
        self.forget_routes()

    def _role_refusal(self) -> str:
        """Return why a broker of this role stores no messages; empty when it stores them."""
        if self._config.is_slave:
            return store_refusal(self._store, IS_SLAVE)
        return self.refusal

    def forget_routes(self) -> None:
        """Drop every cached route; call it when any topic has changed."""
        self._routes.forget()

    def close(self) -> None:
        """Refuse every message from now on, those of clients and those that the broker makes."""
        self.is_open = False
        self._routes.close()

    def handle_send(self, request: Request) -> None:
        """Store the message or batch of a request; the answer leaves when it is safe on disk.

        Raises:
            BadHeader: a field of the header is missing or has a wrong value.
        """
        send = send_fields(request.command)
        try:
            if self._overload.refusal:
                raise RequestRefused(ResponseCode.SYSTEM_BUSY, self._overload.refusal)
            route = self._routes.get(send.topic)
            queue_id = send.queue_id
            if route is None or not 0 <= queue_id < route.queue_limit:
                route, queue_id = self.route_of(request.conn, send, request.now_ms)
            if send.batch:
                self._store_batch(request, replace(send, queue_id=queue_id))
            else:
                self._store_message(request, send, route, queue_id)
        except RequestRefused as refused:
            self._refuse(request, refused)

    def _refuse(self, request: Request, refused: RequestRefused) -> None:
        command = request.command
        if not command.is_oneway:
            answer = self._answers.refused(
                command.serialize, command.opaque, code=refused.code, remark=refused.remark
            )
            request.conn.send(answer)

    def _acknowledge(
        self,
        request: Request,
        route: Route,
        queue_id: int,
        *,
        queue_offset: int,
        message_id: str,
        waits: bool,
        recall_handle: str | None = None,
    ) -> None:
        """Queue the answer; the group commit sends it when the message is safe.

        Args:
            request: of the producer.
            route: of the message.
            queue_id: the queue that the answer names.
            queue_offset: of the message, or of the first one of a batch.
            message_id: offset id, or the ids of a batch joined with commas.
            waits: whether the producer waits for the disk.
            recall_handle: handle with which the producer can recall a timer message.
        """
        command = request.command
        if command.is_oneway:
            self._group_commit.schedule()
            return
        serialize, opaque = command.serialize, command.opaque
        answer = self._answers.stored(
            serialize,
            opaque,
            queue_id=queue_id,
            queue_offset=queue_offset,
            message_id=message_id,
            recall_handle=recall_handle,
        )
        sink: Sink = request.conn
        if self._context.topics.unsaved and self._is_unsaved(route):
            sink = SavedFirst(request.conn, self._files, "topics")
        self._group_commit.ack(sink, answer, opaques=(opaque,), serialize=serialize, waits=waits)

    def _is_unsaved(self, route: Route) -> bool:
        """Return whether a topic that stores a message of this route is not in topics.json yet."""
        unsaved = self._context.topics.unsaved
        if route.topic in unsaved:
            return True
        return route.retry_group is not None and names.dlq_topic(route.retry_group) in unsaved

    def make_kernel(self, kind: Callable[..., Kernel], access: BrokerAccess | None) -> Kernel:
        """Return the kernel that takes plain sends before they come here.

        Args:
            kind: its class.
            access: checks every send; None without access control.
        """
        return kind(
            allows=None if access is None else access.allows_send,
            limits=self.limits,
            routes=self._routes.known,
            layout_of=self._recoder.layout_of,
            cluster=format_properties({CLUSTER: self._config.broker_cluster_name}).encode(),
            suffix_of=self._recoder.batch_suffix,
            appender=self._store.appender,
            answers=self._answers,
            turn=self._group_commit,
            store_host=self._store_host,
        )

    def limits(self) -> tuple[int, int] | None:
        """Return the bytes of the largest body and of the largest record; None to take no sends.

        It is for the kernel, which leaves sends to ``handle_send`` where that would refuse them.
        """
        if self._config.store.enable_multi_dispatch:
            return None
        if self._overload.refusal or not self._store.takes_messages:
            return None
        return self._body_size_max, self._store.appender.size_max

    def route_of(self, conn: ServerConn, send: SendFields, now_ms: int) -> tuple[Route, int]:
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

    def put(self, message: PutMessage, now_ms: int) -> PutResult:
        """Put a message that the broker itself made; the caller schedules the commit or waits.

        Raises:
            RequestRefused: the store does not accept the message, or the broker stops.
        """
        if not self.is_open:
            # The disk threads end before the connections do.
            raise RequestRefused(ResponseCode.SERVICE_NOT_AVAILABLE, STOPPING)
        result = self._store.put(message, now_ms)
        if result.status is not _OK:
            raise self._refusal_of(result.status)
        return result

    def deliver(self, message: PutMessage, now_ms: int) -> PutResult:
        """Put a delayed or transactional message of a client, and count it for its topic.

        Raises:
            RequestRefused: the store does not accept the message.
        """
        result = self.put(message, now_ms)
        self._context.stats.count_put(message.topic, result.size)
        return result

    def _store_message(
        self, request: Request, send: SendFields, route: Route, queue_id: int
    ) -> None:
        """Check, transform and put one message, and queue its answer."""
        conn, body, now_ms = request.conn, request.command.body, request.now_ms
        recoded = self._recoder.recode(send.properties)
        if send.sys_flag & TRANSACTION_MASK and not is_prepared(recoded.named):
            self._warn_of_flag(conn, send.sys_flag)
        if len(body) > self._body_size_max or len(recoded.data) > PROPERTIES_SIZE_MAX:
            self._context.stats.put_failed_count += 1
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, self._illegal)
        message = PutMessage(
            topic=route.topic,
            topic_bytes=route.topic_bytes,
            queue_id=queue_id,
            body=body,
            properties=recoded.data,
            flag=send.flag,
            sys_flag=send.sys_flag | route.sys_flag,
            born_ms=send.born_timestamp,
            born_host=conn.peer_host,
            store_host=self._store_host,
            reconsume_times=send.reconsume_times or 0,
            tags_code=recoded.tags_code,
            keys=recoded.keys,
        )
        handle = None
        if route.retry_group is not None:
            self._transform_retry(message, request, send, route.retry_group)
        if recoded.named is not None:
            handle = self._transform(message, recoded.named, now_ms)
        result = self._store.put(message, now_ms)
        if result.status is not _OK:
            raise self._refusal_of(result.status)
        if message.topic is route.topic:
            self.count(route, 1, result.size)
        else:
            # Count it for the topic it waits or ended in. A message that waits is counted
            # for its own topic when it is delivered.
            self._context.stats.count_put(message.topic, result.size)
        self._acknowledge(
            request,
            route,
            queue_id,
            queue_offset=result.queue_offset,
            message_id=self._answers.message_id(result.log_offset),
            waits=recoded.waits,
            recall_handle=handle,
        )

    def _store_batch(self, request: Request, send: SendFields) -> None:
        """Store a batch: a small one at once, a large one in runs between other requests.

        Raises:
            RequestRefused: the body is not a batch, or the batch is too large, delayed or
                transactional.
        """
        body = request.command.body
        ends = self._recoder.batch_suffix(send.properties)
        if len(body) > self._body_size_max or ends.is_delayed or send.sys_flag & TRANSACTION_MASK:
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, self._illegal)
        runs = read_batch(body, ends=ends, illegal=self._illegal)
        first = next(runs)
        steps = self._store_runs(request, send, first, runs, waits=ends.waits)
        if len(first) < RUN_COUNT_MAX:
            deque(steps, maxlen=0)
        else:
            self._slices.later_all(_keeping(request.conn, len(body), steps))

    def _store_runs(
        self,
        request: Request,
        send: SendFields,
        first: list[RunMessage],
        others: Iterator[list[RunMessage]],
        *,
        waits: bool,
    ) -> Generator[None, None, None]:
        """Read the rest of a batch, then store it, with one run in each slice.

        Other messages may be stored between two runs, so each run gets its own store time.
        Nothing is stored before the whole batch is read. A batch is stored in part only when the
        store stops taking messages, or when a message of a later run names a queue that is
        refused; the answer then is the same as if nothing were stored.
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
                    self._group_commit.when_safe(codes.append)
                    yield
                if ResponseCode.SERVICE_NOT_AVAILABLE in codes:
                    raise self._refusal_of(PutStatus.SERVICE_NOT_AVAILABLE)
                now_ms = self._context.clock.now_ms()
                route, queue_id = self.route_of(request.conn, send, now_ms)
                put = self._put_run(request.conn, send, route, queue_id, run, now_ms)
                queue_offset = put.queue_offset if queue_offset < 0 else queue_offset
                put_size += put.size
                log_offsets += put.log_offsets
        except RequestRefused as refused:
            self._refuse(request, refused)
        else:
            self.count(route, len(log_offsets), put_size)
            self._acknowledge(
                request,
                route,
                queue_id,
                queue_offset=queue_offset,
                message_id=self._answers.message_ids(log_offsets),
                waits=waits,
            )

    def _put_run(
        self,
        conn: ServerConn,
        send: SendFields,
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
            raise self._refusal_of(result.status)
        return result

    def _transform_retry(
        self, message: PutMessage, request: Request, send: SendFields, group: str
    ) -> None:
        """Send a message to the dead letter topic if it reached its maximum of retries."""
        now_ms = request.now_ms
        group_config = self._context.groups.find(group, now_ms=now_ms)
        if group_config is None:
            text = names.see_faq(f"subscription group not exist, {group} ")
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, text)
        most = group_config.retry_max_times
        reconsume_times_max = send.max_reconsume_times
        if reconsume_times_max is not None and request.command.version >= RETRY_TIMES_VERSION:
            most = reconsume_times_max
        if (send.reconsume_times or 0) >= most:
            dead = self._context.topics.create_for_group(
                names.dlq_topic(group), queue_count=1, now_ms=now_ms
            )
            message.topic, message.topic_bytes = dead.topic_name, dead.topic_name.encode()
            message.queue_id = 0

    def _transform(self, message: PutMessage, named: Mapping[str, str], now_ms: int) -> str | None:
        """Redirect a message whose properties ask for a transaction or a delay.

        Returns:
            The handle with which the producer can recall it; None if it cannot.
        """
        if is_prepared(named):
            self._prepare(message, named)
            return None
        level = self._levels.level_of(named.get(DELAY, "0"))
        if level > 0:
            redirect(
                message, named, level=level, delay_ms=self._levels.delay_ms(level), now_ms=now_ms
            )
            self._check_properties(message)
            return None
        out_ms = self.timer_rules.apply(message, named, now_ms=now_ms)
        if out_ms is None:
            return None
        return recall_handle(message, out_ms, broker_name=self._config.broker_name)

    def _have_timer_topic(self) -> None:
        """Create the topic in which timer messages wait, for the first one."""
        if self._context.topics.get(TIMER_TOPIC) is None:
            now_ms = self._context.clock.now_ms()
            self._context.topics.put(topic_config(TIMER_TOPIC, queue_count=1), now_ms=now_ms)

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
                "%s sent a message with the transaction flag but without TRAN_MSG; as in Java, it "
                "is stored and no consumer will see it", conn.address,
            )  # fmt: skip

    def count(self, route: Route, count: int, size: int) -> None:
        """Count messages that were put for clients."""
        nums, sizes = route.put_nums, route.put_size
        nums.sum += count
        nums.times += 1
        sizes.sum += size
        sizes.times += 1

    def _refusal_of(self, status: PutStatus) -> RequestRefused:
        """Return the refusal of a message that was not put, and count it as Java does."""
        failure = self._store.failure
        if status is PutStatus.SERVICE_NOT_AVAILABLE:
            # Java does not count these as failed puts, because nothing was tried.
            text = self._role_refusal() or store_refusal(self._store, failure or "shut down")
            return RequestRefused(ResponseCode.SERVICE_NOT_AVAILABLE, text)
        self._context.stats.put_failed_count += 1
        return put_refusal(status, body_size_max=self._body_size_max, failure=failure)


def _keeping(conn: ServerConn, size: int, steps: Iterator[None]) -> Iterator[None]:
    """Yield from ``steps``; until their end ``size`` bytes count as in flight for ``conn``."""
    conn.count_held(size)
    try:
        yield from steps
    finally:
        conn.count_held(-size)
