"""The state of one broker in one object, which every handler gets.

    Broker ── config, store
           ├─ topics, groups, offsets      saved as JSON (``files.saves``)
           ├─ consumers, producers, locks  lost when the process ends, as in Java
           ├─ sender, puller, hold, delay, timer, turn     messages in and out
           ├─ pops                         messages that are popped
           └─ calls, stats, transactions, filters

Rule: this module creates and connects the parts and has no I/O of its own; ``app`` has the
sockets, the timers and the order of start and stop.

Source: broker/BrokerController.java.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from mqserver.broker.acl.accounts import AclError, Perm
from mqserver.broker.acl.control import AccessControl
from mqserver.broker.clients.client_requests import ClientCalls, encode_notice, send_notice
from mqserver.broker.clients.filter_servers import FilterServers
from mqserver.broker.clients.groups import Groups
from mqserver.broker.clients.members import Consumers, GroupMember, Producers
from mqserver.broker.clients.offsets import Offsets, Place
from mqserver.broker.clients.queue_locks import LockTable
from mqserver.broker.config import BrokerConfig, BrokerRole
from mqserver.broker.delay.schedule import DelayLevels, DelayService
from mqserver.broker.files.live_settings import LiveSettings
from mqserver.broker.files.loads import StoredTables
from mqserver.broker.files.saves import StateFiles, done_when_saved
from mqserver.broker.filters.bitmaps import BitMaps
from mqserver.broker.filters.table import FilterTable
from mqserver.broker.names import first_names, topic_fault
from mqserver.broker.pop.modes import RequestModes
from mqserver.broker.pop.order import OrderedQueues
from mqserver.broker.pop.planning import Planner
from mqserver.broker.pop.popper import Popper
from mqserver.broker.pop.revive import ReviveLog
from mqserver.broker.pull.pull_check import PullChecks
from mqserver.broker.pull.pull_hold import HeldPulls
from mqserver.broker.pull.puller import PendingPull, Puller
from mqserver.broker.send.sender import Sender
from mqserver.broker.serving.answers import SendAnswers
from mqserver.broker.serving.cold_reads import ColdReads
from mqserver.broker.serving.group_commit import Done, Turn
from mqserver.broker.serving.overload import Overload
from mqserver.broker.stats.counters import Statistics
from mqserver.broker.timer.service import TimerService
from mqserver.broker.topics import LOST_QUEUE_COUNT, Topics, topic_config
from mqserver.broker.transaction.checks import HOUR_MS, CheckRules, TransactionChecks, run_round
from mqserver.broker.transaction.last_commit import missing_decision
from mqserver.broker.undelivered import Undelivered
from mqserver.runtime.clock import Clock, Times, read_together
from mqserver.runtime.observers import Observers
from mqserver.runtime.program.limits import unflushed_size
from mqserver.runtime.request import RequestRefused
from mqserver.runtime.slices import Slices, chunks
from mqserver.store.config import FlushDiskType
from mqserver.store.errors import StoreFailed
from mqserver.store.queues.ext import no_bits
from mqserver.store.results import DispatchEntry, PutMessage, PutResult
from mqserver.store.store import MessageStore
from remoting.aio.link import Outbox
from remoting.aio.server import ServerConn
from remoting.bodies import MessageRequestModeSerializeWrapper
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import GetEpoch, GetEpochResponse, NotifyConsumerIdsChanged
from storefmt.config.tables import ConsumerOffsets, DataVersion, DelayOffsets
from storefmt.formats.hosts import pack_host
from storefmt.formats.message import decode_record
from storefmt.names import DLQ_PREFIX, RETRY_PREFIX, SCHEDULE_TOPIC, is_light

LOG = logging.getLogger(__name__)

MEMBERS_PER_SLICE = 256
"""Members of a group that are notified in one slice, before other requests can run."""


class Ha:
    """What the broker asks of replication; this class answers until replication takes its place."""

    def numbers(self) -> dict[str, str]:
        """Return the entries of the runtime information that are about replication."""
        return {}

    def pull_refusal(self) -> str:
        """Return why this slave serves no pulls; empty when it serves them."""
        return ""

    def offsets_beyond_master(self) -> ConsumerOffsets | None:
        """Return the offsets that a slave did not copy from its master; None for a master."""
        return None

    async def promote(self, role: BrokerRole | None, *, force: bool) -> str:
        """Become the master with that role; None for that of the former master."""
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the broker does not run yet")

    def demote(self, broker_id: int, *, cut_tail: bool, force: bool) -> str:
        """Become the slave with that id."""
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the broker does not run yet")

    def tell_epoch(self, question: GetEpoch) -> GetEpochResponse:
        """Return epoch and role, with a proof for the challenge of a question."""
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the broker does not run yet")


class Pops(NamedTuple):
    """The parts that serve pops."""

    modes: RequestModes
    """Which groups pop."""
    order: OrderedQueues
    """The queues that are popped in order."""
    revive: ReviveLog
    planner: Planner
    """Reads queues for pops and peeks."""
    popper: Popper

    def left_count(self, place: Place) -> int:
        """Return how many messages of a queue a group has popped and not acknowledged."""
        return self.order.left_count(place) + self.revive.left_count(place)


class Broker:
    """The state of one running broker.

    Args:
        config: the settings.
        store: the store, opened and recovered.
        clock: the wall clock and the steady clock.
        files: saves the tables that changed.
        stored: the content of the state files.
        sends: writes answers to all connections.
        register_soon: registers soon what has changed and name servers have to know.
        when_registered: calls back when the present state is registered with every name server.
        expect_deadline: called with the deadline (ms) of each pull that is held.
        settings: the changes of settings; None for those of ``config`` without any change.
    """

    def __init__(
        self,
        config: BrokerConfig,
        store: MessageStore,
        *,
        clock: Clock,
        files: StateFiles,
        stored: StoredTables,
        sends: Outbox,
        register_soon: Callable[[], None],
        when_registered: Callable[[Callable[[], None]], None],
        expect_deadline: Callable[[int], None],
        settings: LiveSettings | None = None,
    ) -> None:
        now_ms = clock.now_ms()
        self.config = config
        self.settings = settings or LiveSettings(config)
        self.changed_settings = Observers[[]]()
        """Told after each change of settings."""
        self.store = store
        self.clock = clock
        self.files = files
        self.settings_version = DataVersion(timestamp_ms=now_ms, counter=0)
        self.store_host = pack_host(config.broker_ip1, config.listen_port)
        self.register_soon = register_soon
        self.when_registered = when_registered
        self._expect_deadline = expect_deadline
        self.stats = Statistics(now_ms=now_ms, cluster=config.broker_cluster_name)
        self.levels = DelayLevels(config.store.delays_ms())
        self.topics = Topics(config, stored.topics, now_ms=now_ms, on_change=self._topics_changed)
        on_change = partial(files.mark, "subscriptionGroup")
        self.groups = Groups(config, stored.groups, now_ms=now_ms, on_change=on_change)
        self.offsets = Offsets(stored.offsets, has_light=config.store.enable_lmq)
        self.consumers = Consumers()
        self.filters = FilterTable(config)
        if stored.filters is not None:
            self.filters.load(stored.filters, now_ms=now_ms)
        self.producers = Producers()
        self.filter_servers, self.locks, self.calls = FilterServers(), LockTable(), ClientCalls()
        self.hold: HeldPulls[PendingPull] = HeldPulls(count_max=config.held_pull_count_max)
        self.cold = ColdReads(clock)
        self.slices = Slices()
        self._answers = self._make_answers()
        self.turn = self._make_turn(self._answers, sends)
        self.sender = self._make_sender(self._answers)
        self.pull_checks = self._make_pull_checks()
        self.puller = self._make_puller()
        self.pops = self._make_pops(stored)
        self.undelivered = Undelivered(store, self.topics)
        self.delay = self._make_delay(stored.delay_offsets)
        self.timer = self._make_timer()
        self.ha = Ha()
        self.access: AccessControl | None = None
        """The access control; None if aclEnable is not set."""
        self.transactions = self._make_checks()
        store.dispatched.add(lambda entries: self.puller.dispatched(entries))
        store.dispatched.add(lambda entries: self.pops.popper.dispatched(entries))
        store.dispatched.add(self._delayed_arrived)
        self._set_bit_maps()

    def _make_answers(self) -> SendAnswers:
        region, trace_on = self.config.region_id, self.config.trace_on
        return SendAnswers(region=region, trace_on=trace_on, store_host=self.store_host)

    def _make_turn(self, answers: SendAnswers, sends: Outbox) -> Turn:
        config = self.config
        return Turn(
            self.store,
            clock=self.clock,
            answers=answers,
            sync_flush=config.store.flush_disk_type is FlushDiskType.SYNC_FLUSH,
            overload=Overload(
                count_max=config.send_thread_pool_queue_capacity,
                size_max=unflushed_size(config.in_flight_size_max),
                busy_ms=config.store.os_page_cache_busy_time_out_ms,
                stale_ms=_stale_ms(config),
            ),
            times=self.stats.put_times,
            after_write=self._after_write,
            sends=sends,
        )

    def _make_delay(self, stored: DelayOffsets | None) -> DelayService:
        delay = DelayService(
            self.store,
            self.levels,
            times=read_together(self.clock),
            stored=stored,
            put=self._deliver,
            when_safe=self.turn.when_safe,
            cold=self.cold,
            route=self.undelivered.route,
        )
        delay.skew.stepped.add(self._clock_set)
        return delay

    def _make_timer(self) -> TimerService:
        return TimerService(
            self.store,
            self.config.store,
            put=self._deliver,
            when_safe=self.turn.when_safe,
            cold=self.cold,
            route=self.undelivered.route,
        )

    def _make_sender(self, answers: SendAnswers) -> Sender:
        return Sender(
            self.store,
            config=self.config,
            topics=self.topics,
            groups=self.groups,
            levels=self.levels,
            stats=self.stats,
            turn=self.turn,
            files=self.files,
            answers=answers,
            store_host=self.store_host,
            clock=self.clock,
            slices=self.slices,
        )

    def _make_pull_checks(self) -> PullChecks:
        return PullChecks(
            self.config,
            topics=self.topics,
            groups=self.groups,
            consumers=self.consumers,
            filters=self.filters,
            slave_refusal=lambda: self.ha.pull_refusal(),
        )

    def _make_puller(self) -> Puller:
        return Puller(
            self.store,
            config=self.config,
            checks=self.pull_checks,
            offsets=self.offsets,
            hold=self.hold,
            stats=self.stats,
            store_host=self.store_host,
            put_event=self.put_unanswered,
            on_hold=self._expect_deadline,
            cold=self.cold,
        )

    def _make_pops(self, stored: StoredTables) -> Pops:
        order = OrderedQueues()
        revive = ReviveLog(
            self.store,
            config=self.config,
            topics=self.topics,
            groups=self.groups,
            offsets=self.offsets,
            put=self._put,
            deliver=self._deliver,
            schedule=self.turn.schedule,
            store_host=self.store_host,
            cold=self.cold,
        )
        planner = Planner(
            self.store, config=self.config, topics=self.topics, offsets=self.offsets, order=order
        )
        popper = Popper(
            config=self.config,
            offsets=self.offsets,
            revive=revive,
            order=order,
            planner=planner,
            stats=self.stats,
            cold=self.cold,
            when_safe=self.when_safe,
            on_hold=self._expect_deadline,
        )
        modes = RequestModes(stored.request_modes)
        return Pops(modes, order, revive, planner, popper)

    def adopt_modes(self, modes: MessageRequestModeSerializeWrapper) -> None:
        """Replace the request modes by those of a master."""
        if self.pops.modes.adopt(modes):
            self.files.mark("messageRequestMode")

    def saved_offsets(self) -> ConsumerOffsets:
        """Return a snapshot of the consumer offsets that may be saved, and copied to a slave."""
        return self.pops.revive.saved_offsets(self.offsets.table())

    def _make_checks(self) -> TransactionChecks:
        return TransactionChecks(
            self.store,
            topics=self.topics,
            offsets=self.offsets,
            rules=self._check_rules,
            put=self._put,
            when_safe=self.turn.when_safe,
            ask=self._ask_producer,
            can_ask=self._can_ask_producer,
            store_host=self.store_host,
        )

    @property
    def version_text(self) -> str:
        """The data version of the settings, as JSON."""
        version = self.settings_version
        return f'{{"counter":{version.counter},"timestamp":{version.timestamp_ms}}}'

    def put_unanswered(self, message: PutMessage, now_ms: int) -> None:
        """Store a message of the broker itself, without waiting for the result."""
        if self.sender.is_open:
            self.store.put(message, now_ms)
            self.turn.schedule()

    def _put(self, message: PutMessage, now_ms: int) -> PutResult:
        return self.sender.put(message, now_ms=now_ms)

    def _deliver(self, message: PutMessage, now_ms: int) -> PutResult:
        return self.sender.deliver(message, now_ms=now_ms)

    def check_transactions(self, now_ms: int) -> Awaitable[None] | None:
        """Return one round of transaction checks, to be awaited; None on a slave."""
        if self.store.is_copy:
            return None
        return run_round(self.transactions, self.clock, cold=self.cold)

    def settle(self) -> None:
        """Advance delay offsets and transaction checks to what is on the disk by now."""
        self.delay.settle()
        self.transactions.settle()

    def _check_rules(self) -> CheckRules:
        config = self.config
        return CheckRules(
            config.transaction_time_out_ms,
            config.transaction_check_max,
            config.store.file_reserved_time_h * HOUR_MS,
            self.store.cleaner.policy.clock_ms,
        )

    def _ask_producer(self, group: str, question: Command) -> None:
        topic = decode_record(question.body, check_crc=False).topic
        conn = self.producers.next_connection(group, partial(self._may_be_asked, topic))
        if conn is None:
            LOG.warning("no producer of group %s is connected, its half message waits", group)
        else:
            self.calls.oneway(conn, question)

    def _can_ask_producer(self, group: str, topic: str) -> bool:
        return any(
            not producer.conn.is_closing and self._may_be_asked(topic, producer)
            for producer in self.producers.members(group) or ()
        )

    def _may_be_asked(self, topic: str, producer: GroupMember) -> bool:
        """Tell whether a producer may see a half message of a topic in a check request.

        Any client can claim to be in a producer group. So with ACL the producer also needs
        permission to send to the topic of the message.
        """
        if self.access is None:
            return True
        try:
            peer = producer.conn.peer[0]
            self.access.require(peer, producer.access_key, (topic, Perm.PUB))
        except AclError as error:
            LOG.warning("%s is not asked: %s", producer.conn.address, error)
            return False
        return True

    def notify_members(self, group: str) -> None:
        """Notify every member of a consumer group that its members have changed (code 40)."""
        found = self.consumers.group(group)
        if found is None or not self.config.notify_consumer_ids_changed_enable:
            return
        header = NotifyConsumerIdsChanged(consumer_group=group)
        frame = encode_notice(Command.request(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, header))

        def notify(members: Sequence[ServerConn]) -> None:
            for conn in members:
                send_notice(conn, frame)

        for number, members in enumerate(chunks(list(found.members), MEMBERS_PER_SLICE)):
            if number == 0:
                notify(members)
            else:
                self.slices.later(partial(notify, members))

    def connection_closed(self, conn: ServerConn) -> None:
        """Remove a closed connection from everything, and notify the groups that it was in."""
        self.hold.drop_owner(conn)
        self.pops.popper.waiting.drop_owner(conn)
        self.calls.drop(conn)
        self.producers.drop(conn)
        if self.filter_servers.drop(conn):
            self.register_soon()
        for group in self.consumers.drop(conn):
            self.group_left(group)
            self.notify_members(group)

    def group_left(self, group: str) -> None:
        """Note that a member left a consumer group; without members its filters are dead."""
        if self.consumers.group(group) is None:
            self.filters.unregister(group, now_ms=self.clock.now_ms())

    def make_lost_topics(self, *, now_ms: int) -> None:
        """Create again each topic that has messages and is missing in topics.json.

        A crash does not cause this, because a message is acknowledged only when topics.json has
        its topic. It happens when the file was lost, and when a slave is promoted before it copied
        a topic whose messages it has. Topics that were deleted are not created.
        """
        counts: dict[str, int] = {}
        for topic, queue_id in self.store.queues():
            if self.topics.get(topic) is None and self._can_be_lost(topic):
                counts[topic] = max(counts.get(topic, 0), queue_id + 1)
        for topic, count in counts.items():
            least = LOST_QUEUE_COUNT
            if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
                group = self.groups.get(topic.removeprefix(RETRY_PREFIX))
                least = 1 if group is None else group.retry_queue_nums
            self.topics.put(topic_config(topic, queue_count=max(count, least)), now_ms=now_ms)
        if counts:
            LOG.warning(
                "topics.json does not know %d topics that have messages (%s); they are made again, "
                "with %d queues or as many as have messages, to be read and written",
                len(counts), first_names(sorted(counts)), LOST_QUEUE_COUNT,
            )  # fmt: skip

    def complete_last_commit(self, *, now_ms: int) -> None:
        """Put the op message that a crash cut off the commit at the end of the log."""
        op = missing_decision(self.store, store_host=self.store_host, now_ms=now_ms)
        if op is None:
            return
        try:
            self.sender.put(op, now_ms=now_ms)
        except RequestRefused as refused:
            LOG.warning("the producer of the last commit will be asked again: %s", refused)
            return
        self.turn.schedule()

    def _can_be_lost(self, topic: str) -> bool:
        return (
            topic_fault(topic) is None
            and not is_light(topic)
            and not self.topics.is_system(topic)
            and not self.store.was_deleted(topic)
        )

    def drop_queues(
        self,
        topic: str,
        *,
        log_end: int | None = None,
        done: Callable[[str], None] = lambda why: None,
    ) -> None:
        """Delete the queues of a topic.

        Args:
            topic: the topic.
            log_end: log offset below which its records never get queue entries again; None for
                the end of the log.
            done: called with "" when the deletion is durable, or with the reason why not.
        """
        _, job = self.store.begin_delete(topic, log_end)
        self.puller.drop_topic(topic, now_ms=self.clock.now_ms())
        self.pops.popper.drop_topic(topic, now_ms=self.clock.now_ms())
        self.locks.drop_topic(topic)
        self.stats.forget_topic(topic)
        self.sender.forget_routes()
        self.puller.forget_counters()

        def ended(at_ms: int) -> None:
            try:
                self.store.end_flush(job)
            except StoreFailed as error:
                LOG.error("topic %s is not deleted: %s", topic, error)
                done(str(error))
            else:
                done("")

        def record(code: ResponseCode) -> None:
            # A write that failed has undone messages that were put before the deletion.
            job.log_end = min(job.log_end, self.store.raw.end)
            self.cold.run(job.run, ended)

        if self.turn.is_writing:
            self.turn.when_safe(record)
        else:
            record(ResponseCode.SUCCESS)

    def settings_changed(self, *, now_ms: int) -> None:
        """Apply settings that have changed to the parts that keep copies of them."""
        self.settings_version = DataVersion(
            timestamp_ms=now_ms, counter=self.settings_version.counter + 1
        )
        config, overload = self.config, self.turn.overload
        self._answers.tell(region=config.region_id, trace_on=config.trace_on)
        overload.busy_ms = config.store.os_page_cache_busy_time_out_ms
        overload.stale_ms = _stale_ms(config)
        self._set_bit_maps()
        self.store.settings_changed()
        self.sender.settings_changed()
        self.changed_settings()

    def _set_bit_maps(self) -> None:
        config, store = self.config, self.store
        config.store.bit_map_length_consume_queue_ext = self.filters.bloom.bit_count
        maps = BitMaps(self.filters, read_record=store.reader.read_record)
        store.exts.bit_map = maps.of if config.enable_calc_filter_bit_map else no_bits

    def _topics_changed(self) -> None:
        change = self.topics.change_count
        self.files.mark("topics", lambda error: self._topics_saved(change, error))
        self.sender.forget_routes()

    def _topics_saved(self, change_count: int, error: OSError | None) -> None:
        if error is None:
            self.topics.saved(change_count)
        self.register_soon()

    def when_safe(self, done: Done) -> None:
        """Call ``done`` when what was put is safe and topics.json has every new topic."""
        if self.topics.unsaved:
            done = done_when_saved(self.files, "topics", done)
        self.turn.when_safe(done)

    def _delayed_arrived(self, entries: list[DispatchEntry]) -> None:
        """Tell the delay service which delayed messages became visible."""
        # A look at each entry would cost a broker without delayed messages for nothing.
        if not self.store.has(SCHEDULE_TOPIC):
            return
        times: Times | None = None
        for entry in entries:
            if entry.topic == SCHEDULE_TOPIC:
                times = times or read_together(self.clock)
                self.delay.arrived(
                    entry.queue_id, entry.queue_offset, store_ms=entry.store_ms, times=times
                )

    def _clock_set(self, step_ms: int) -> None:
        """Shift all deadlines and times, because the wall clock was changed by ``step_ms``."""
        LOG.warning("the clock of this machine was set by %.1f s", step_ms / 1000)
        for timed in (
            self.hold, self.pops.popper.waiting, self.locks, self.consumers, self.producers,
            self.filter_servers, self.turn,
        ):  # fmt: skip
            timed.clock_set(step_ms)
        # Let the timer of held pulls fire now, so that it is set to the shifted deadline.
        self._expect_deadline(0)

    def _after_write(self, now_ms: int) -> None:
        self.puller.answer_woken(now_ms)
        self.pops.popper.answer_woken()


def _stale_ms(config: BrokerConfig) -> int | None:
    return config.wait_time_in_send_queue_ms if config.broker_fast_failure_enable else None
