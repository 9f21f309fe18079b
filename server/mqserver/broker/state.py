"""The state of one broker in one object, which every handler gets.

    Broker ── context: config, store, topics, groups, offsets …     what every service reads
           ├─ sender, puller, pops, delay, timer, transactions      the services
           ├─ group_commit                                          writes what they put
           └─ consumers, producers, locks, calls                    lost when the process ends

Rule: this module creates and connects the parts and has no I/O of its own; ``app`` has the
sockets and the order of start and stop. Start with ``broker_context``.

Source: broker/BrokerController.java.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

from mqserver.broker.acl.access import BrokerAccess
from mqserver.broker.broker_context import BrokerContext, OwnPuts
from mqserver.broker.clients.client_requests import ClientCalls, encode_notice, send_notice
from mqserver.broker.clients.consumer_offsets import Offsets, Place
from mqserver.broker.clients.filter_servers import FilterServers
from mqserver.broker.clients.members import Consumers, Producers
from mqserver.broker.clients.queue_locks import LockTable
from mqserver.broker.clients.subscription_groups import Groups
from mqserver.broker.config import BrokerConfig, BrokerRole
from mqserver.broker.delay.schedule import DelayLevels, DelayService
from mqserver.broker.files.live_settings import LiveSettings
from mqserver.broker.files.loads import StoredTables
from mqserver.broker.files.saves import StateFiles, done_when_saved
from mqserver.broker.filters.bitmaps import BitMaps
from mqserver.broker.filters.table import FilterTable
from mqserver.broker.intervals import while_asked
from mqserver.broker.pop.modes import RequestModes
from mqserver.broker.pop.order import OrderedQueues
from mqserver.broker.pop.planning import Planner
from mqserver.broker.pop.popper import Popper
from mqserver.broker.pop.revive import ReviveLog
from mqserver.broker.pull.pull_check import PullChecks
from mqserver.broker.pull.puller import Puller
from mqserver.broker.registration import Registration
from mqserver.broker.send.sender import Sender
from mqserver.broker.serving.answers import SendAnswers
from mqserver.broker.serving.cold_reads import ColdReads
from mqserver.broker.serving.deadlines import DeadlineTimer
from mqserver.broker.serving.group_commit import Done, GroupCommit
from mqserver.broker.serving.overload import Overload
from mqserver.broker.stats.counters import Statistics
from mqserver.broker.timer.service import TimerService
from mqserver.broker.topics import Topics
from mqserver.broker.transaction.check_requests import CheckRequests
from mqserver.broker.transaction.last_commit import missing_decision
from mqserver.broker.transaction.transaction_checks import TransactionChecks
from mqserver.runtime.clock import Clock
from mqserver.runtime.observers import Observers
from mqserver.runtime.periodic import Services
from mqserver.runtime.program.limits import unflushed_size
from mqserver.runtime.request import RequestRefused
from mqserver.runtime.slices import Slices, chunks
from mqserver.store.queues.ext import no_bits
from mqserver.store.store import MessageStore
from remoting.aio.link import Outbox
from remoting.aio.server import ServerConn
from remoting.bodies import MessageRequestModeSerializeWrapper
from remoting.bodies.controller import EpochEntryCache
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import ExchangeHaInfo, GetEpoch, GetEpochResponse, NotifyConsumerIdsChanged
from storefmt.config.tables import ConsumerOffsets, DataVersion
from storefmt.formats.hosts import pack_host

LOG = logging.getLogger(__name__)

CALLS_MS: Final = 200
SECOND_MS: Final = 1_000
SILENCE_SCAN_MS: Final = 10_000
ACL_SCAN_MS: Final = 2_000
MEMBERS_PER_SLICE: Final = 256
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
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the broker is still starting")

    def demote(self, broker_id: int, *, cut_tail: bool, force: bool) -> str:
        """Become the slave with that id."""
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the broker is still starting")

    def tell_epoch(self, question: GetEpoch) -> GetEpochResponse:
        """Return epoch and role, with a proof for the challenge of a question."""
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the broker is still starting")

    # In a group with a controller.

    @property
    def state_version(self) -> int:
        """The epoch of the master, which name servers compare."""
        return 0

    def master_changed(self) -> None:
        """Ask the controller who the master is, after a notice that it changed."""

    def exchange_ha_info(self, question: ExchangeHaInfo) -> ExchangeHaInfo:
        """Return where slaves connect, if this broker leads its group."""
        return ExchangeHaInfo()

    def epoch_cache(self) -> EpochEntryCache:
        """Return under which masters the log was written."""
        text = "this broker belongs to no group with a controller (enableControllerMode)"
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)


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
        settings: LiveSettings | None = None,
    ) -> None:
        now_ms = clock.now_ms()
        self.settings = settings or LiveSettings(config)
        self.changed_settings = Observers[[]]()
        """Called after each change of settings."""
        self.files = files
        self.settings_version = DataVersion(timestamp_ms=now_ms, counter=0)
        self.context = context = self._make_context(config, store, clock, stored)
        # Handlers read them so often that they are here as well.
        self.config, self.store, self.clock = config, store, clock
        self.topics, self.groups, self.offsets = context.topics, context.groups, context.offsets
        self.stats, self.cold, self.store_host = context.stats, context.cold, context.store_host
        self.levels = DelayLevels(config.store.delays_ms())
        self.registration: Registration | None = None
        """Set when the broker registers."""
        self.ha = Ha()
        self.access: BrokerAccess | None = None
        """The access control; None without accounts."""
        self.consumers, self.producers = Consumers(), Producers()
        self.filter_servers, self.locks, self.calls = FilterServers(), LockTable(), ClientCalls()
        self.filters = FilterTable(config)
        if stored.filters is not None:
            self.filters.load(stored.filters, now_ms=now_ms)
        self.slices = Slices()
        self.deadlines = DeadlineTimer(clock, self._answer_expired)
        """Answers the pulls and pops that have waited long enough."""
        self._answers = SendAnswers(
            region=config.region_id, trace_on=config.trace_on, store_host=context.store_host
        )
        self.group_commit = self._make_group_commit(sends)
        self.sender = Sender(
            context,
            levels=self.levels,
            group_commit=self.group_commit,
            files=files,
            answers=self._answers,
            slices=self.slices,
        )
        self.puller = self._make_puller()
        puts = self._make_puts()
        self.pops = self._make_pops(puts, stored)
        self.delay = DelayService(context, puts, levels=self.levels, stored=stored.delay_offsets)
        self.delay.skew.stepped.add(self._clock_set)
        self.timer = TimerService(context, puts)
        check_requests = CheckRequests(self.producers, self.calls, lambda: self.access)
        self.transactions = TransactionChecks(context, puts, check_requests)
        store.dispatched.add(lambda entries: self.puller.dispatched(entries))
        store.dispatched.add(lambda entries: self.pops.popper.dispatched(entries))
        store.dispatched.add(lambda entries: self.delay.dispatched(entries))
        self._set_bit_maps()

    def _make_context(
        self, config: BrokerConfig, store: MessageStore, clock: Clock, stored: StoredTables
    ) -> BrokerContext:
        now_ms = clock.now_ms()
        groups_changed = partial(self.files.mark, "subscriptionGroup")
        return BrokerContext(
            config=config,
            clock=clock,
            store=store,
            store_host=pack_host(config.broker_ip1, config.listen_port),
            topics=Topics(config, stored.topics, now_ms=now_ms, on_change=self._topics_changed),
            groups=Groups(config, stored.groups, now_ms=now_ms, on_change=groups_changed),
            offsets=Offsets(stored.offsets, has_light=config.store.enable_lmq),
            stats=Statistics(now_ms=now_ms, cluster=config.broker_cluster_name),
            cold=ColdReads(clock),
        )

    def _make_group_commit(self, sends: Outbox) -> GroupCommit:
        config = self.config
        return GroupCommit(
            self.store,
            clock=self.clock,
            answers=self._answers,
            sync_flush=config.store.is_sync_flush,
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

    def _make_puts(self) -> OwnPuts:
        return OwnPuts(
            put=self.sender.put,
            deliver=self.sender.deliver,
            when_safe=self.group_commit.when_safe,
            commit_soon=self.group_commit.schedule,
            refusal=lambda: self.group_commit.overload.refusal,
        )

    def _make_puller(self) -> Puller:
        checks = PullChecks(
            self.context,
            consumers=self.consumers,
            filters=self.filters,
            slave_refusal=lambda: self.ha.pull_refusal(),
        )
        return Puller(
            self.context,
            checks=checks,
            commit_soon=self.group_commit.schedule,
            on_hold=self.deadlines.expect,
            accepts_puts=lambda: self.sender.is_open,
        )

    def _make_pops(self, puts: OwnPuts, stored: StoredTables) -> Pops:
        order, revive = OrderedQueues(), ReviveLog(self.context, puts)
        planner = Planner(self.context, order=order)
        popper = Popper(
            self.context,
            revive=revive,
            order=order,
            planner=planner,
            when_safe=self.when_safe,
            on_hold=self.deadlines.expect,
        )
        return Pops(RequestModes(stored.request_modes), order, revive, planner, popper)

    def schedule(self, services: Services) -> None:
        """Declare the periodic work of all parts."""
        for service in (self.delay, self.pops.revive, self.timer, self.transactions):
            service.schedule(services)
        every = services.every
        every(while_asked(self.calls, CALLS_MS), self.calls.expire, name="requests to clients")
        every(SECOND_MS, self._sample, name="statistics")
        every(SILENCE_SCAN_MS, self.drop_silent, name="silent clients")
        if self.access is not None:
            every(ACL_SCAN_MS, self.access.reload, name="access control files")

    def _sample(self, now_ms: int) -> None:
        self.stats.sample(now_ms, put_count=self.store.put_count)

    # Registration.

    def register_soon(self) -> None:
        """Register soon what has changed and name servers have to know."""
        if self.registration is not None:
            self.registration.register_soon()

    def when_registered(self, registered: Callable[[], None]) -> None:
        """Call back when the present state is registered with every name server."""
        if self.registration is None:
            registered()
        else:
            self.registration.register_soon(registered)

    # State on the disk.

    def adopt_modes(self, modes: MessageRequestModeSerializeWrapper) -> None:
        """Replace the request modes by those of a master."""
        if self.pops.modes.adopt(modes):
            self.files.mark("messageRequestMode")

    def saved_offsets(self) -> ConsumerOffsets:
        """Return a snapshot of the consumer offsets that may be saved, and copied to a slave."""
        return self.pops.revive.saved_offsets(self.offsets.table())

    @property
    def version_text(self) -> str:
        """The data version of the settings, as JSON."""
        version = self.settings_version
        return f'{{"counter":{version.counter},"timestamp":{version.timestamp_ms}}}'

    def settle(self) -> None:
        """Advance delay offsets and transaction checks to what is on the disk by now."""
        self.delay.settle()
        self.transactions.settle()

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
        self.group_commit.when_safe(done)

    def complete_last_commit(self, *, now_ms: int) -> None:
        """Put the op message that a crash cut off the commit at the end of the log."""
        op = missing_decision(self.store, store_host=self.store_host, now_ms=now_ms)
        if op is None:
            return
        try:
            self.sender.put(op, now_ms)
        except RequestRefused as refused:
            LOG.warning("the producer of the last commit will be asked again: %s", refused)
            return
        self.group_commit.schedule()

    # Clients.

    def notify_members(self, group: str) -> None:
        """Notify every member of a consumer group that its members have changed (code 40)."""
        members_of_group = self.consumers.group(group)
        if members_of_group is None or not self.config.notify_consumer_ids_changed_enable:
            return
        header = NotifyConsumerIdsChanged(consumer_group=group)
        frame = encode_notice(Command.request(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, header))

        def notify(members: Sequence[ServerConn]) -> None:
            for conn in members:
                send_notice(conn, frame)

        for number, members in enumerate(chunks(list(members_of_group.members), MEMBERS_PER_SLICE)):
            if number == 0:
                notify(members)
            else:
                self.slices.later(partial(notify, members))

    def connection_closed(self, conn: ServerConn) -> None:
        """Remove a closed connection from everything, and notify the groups that it was in."""
        self.puller.held.drop_owner(conn)
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

    def drop_silent(self, now_ms: int) -> None:
        """Close the connections of clients that sent no heartbeat for too long."""
        for conn in {*self.consumers.silent(now_ms), *self.producers.silent(now_ms)}:
            LOG.warning("%s sent no heartbeat for too long, connection closed", conn.address)
            conn.close()
        self.locks.drop_expired(now_ms)
        if self.filter_servers.drop_silent(now_ms):
            self.register_soon()

    # Settings.

    def apply_settings(self, *, now_ms: int) -> None:
        """Apply settings that have changed to the parts that keep copies of them."""
        self.settings_version = DataVersion(
            timestamp_ms=now_ms, counter=self.settings_version.counter + 1
        )
        config, overload = self.config, self.group_commit.overload
        self._answers.set_region(config.region_id, trace_on=config.trace_on)
        overload.busy_ms = config.store.os_page_cache_busy_time_out_ms
        overload.stale_ms = _stale_ms(config)
        self._set_bit_maps()
        self.store.settings_changed()
        self.sender.apply_settings()
        self.changed_settings()

    def _set_bit_maps(self) -> None:
        config, store = self.config, self.store
        config.store.bit_map_length_consume_queue_ext = self.filters.bloom.bit_count
        maps = BitMaps(self.filters, read_record=store.reader.read_record)
        store.exts.bit_map = maps.of if config.enable_calc_filter_bit_map else no_bits

    # The clock, and what waits for it.

    def _clock_set(self, step_ms: int) -> None:
        """Shift all deadlines and times, because the wall clock was changed by ``step_ms``."""
        LOG.warning("the clock of this machine was set by %.1f s", step_ms / 1000)
        for timed in (
            self.puller.held, self.pops.popper.waiting, self.locks, self.consumers, self.producers,
            self.filter_servers, self.group_commit,
        ):  # fmt: skip
            timed.clock_set(step_ms)
        # Let the timer of held pulls fire now, so that it is set to the shifted deadline.
        self.deadlines.expect(0)

    def _answer_expired(self, now_ms: int) -> None:
        """Answer what waits for messages and is due; more than a slice is due again at once."""
        popper = self.pops.popper
        self.puller.answer_expired(now_ms)
        popper.look(now_ms)
        for deadline_ms in self.puller.held.next_deadline_ms(), popper.waiting.next_look_ms():
            if deadline_ms is not None:
                self.deadlines.expect(deadline_ms)

    def _after_write(self, now_ms: int) -> None:
        self.puller.answer_woken(now_ms)
        self.pops.popper.answer_woken()


def _stale_ms(config: BrokerConfig) -> int | None:
    return config.wait_time_in_send_queue_ms if config.broker_fast_failure_enable else None
