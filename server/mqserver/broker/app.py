"""One broker as a running server: sockets, timers, threads, start and stop.

    start:  config/*.json -> store opened and recovered -> port -> timers -> registered
    stop:   unregistered -> messages written and flushed -> port closed
            -> offsets, topics, groups saved -> store closed (abort removed)

Rule: everything runs on one event loop; threads only wait for the disk (flush, state files,
housekeeping of the store). No file is saved before all files are loaded.

Source: broker/BrokerController.java, broker/BrokerStartup.java.
"""

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mqserver.broker import handlers
from mqserver.broker.acl.gate import make_gate, open_access
from mqserver.broker.cold_handler import check_with_handler
from mqserver.broker.config import BrokerConfig
from mqserver.broker.files.live_settings import FILE_NAME as SETTINGS_FILE
from mqserver.broker.files.live_settings import LiveSettings
from mqserver.broker.files.loads import load_state, loss_warnings, missing_files, offset_files
from mqserver.broker.files.saves import StateFiles
from mqserver.broker.files.topic_files import TopicFiles
from mqserver.broker.ha.epoch import EpochFile
from mqserver.broker.ha.ha_file import HaFile, before_start
from mqserver.broker.ha.replication import Replication
from mqserver.broker.intervals import while_asked, while_unsettled, while_used, while_written
from mqserver.broker.pop.checkpoints import revive_topic
from mqserver.broker.pop.modes import FILE_NAME as REQUEST_MODES
from mqserver.broker.ports import open_grpc_port, server_of
from mqserver.broker.registration import Registration
from mqserver.broker.send.kernel import plain_sends
from mqserver.broker.startup import build_line, log_opening, run
from mqserver.broker.state import Broker
from mqserver.broker.timer.metrics import FILE_NAME as TIMER_METRICS
from mqserver.runtime.clock import Clock, SystemClock, read_together
from mqserver.runtime.dispatch import RequestDispatcher
from mqserver.runtime.program.limits import connections_size, process_resources
from mqserver.runtime.registry import collect
from mqserver.runtime.service import Services
from mqserver.store.disk.job import DiskJob
from mqserver.store.errors import StoreFailed, StoreFull
from mqserver.store.recovery.safe_point import FILE_NAME as SAFE_POINT
from mqserver.store.store import MessageStore
from mqserver.store.timer.files import TimerFlush
from remoting.aio.client import RemotingClient
from remoting.aio.resources import Resources
from remoting.aio.server import ServerConn
from remoting.frame import RawFrame
from storefmt.formats.hosts import pack_host
from storefmt.names import SCHEDULE_TOPIC, TIMER_TOPIC
from storefmt.paths import StorePaths

if TYPE_CHECKING:
    from mqserver.proxy.endpoint import Endpoint

LOG = logging.getLogger(__name__)

HOUSEKEEPING_MS: Final = 200
CLEAN_MS: Final = 1_000
DELAY_MS: Final = 50
POP_MS: Final = 100
CALLS_MS: Final = 200
PAGE_SIZE: Final = 4_096
FILTERS_MS: Final = 10_000
TOPICS_MS: Final = 5_000
SECOND_MS: Final = 1_000
SILENCE_SCAN_MS: Final = 10_000
ACL_SCAN_MS: Final = 2_000
REGISTER_FIRST_MS: Final = 10_000


class BrokerApp:
    """A broker that can be started and stopped once.

    Args:
        config: the settings; changed while the broker runs.
        clock: the wall clock and the steady clock.
        restart: restarts the broker; None where no process would start it again.
        resources: limits of its connections; None for those of the process.
    """

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        *,
        restart: Callable[[], None] | None = None,
        resources: Resources | None = None,
    ) -> None:
        self._config = config
        self._settings = LiveSettings(config)
        self._restart = restart
        self._clock = clock
        self._files = StateFiles()
        self._topic_files: TopicFiles | None = None
        self._services = Services(clock)
        self._client = RemotingClient(tls=config.tls.client)
        self._disk = ThreadPoolExecutor(max_workers=1, thread_name_prefix="housekeeping")
        # One thread deletes old log files, which may take long, while the other creates new ones.
        self._log_files = ThreadPoolExecutor(max_workers=2, thread_name_prefix="log-files")
        self._server = server_of(
            config,
            on_frame=self._too_early,
            on_close=self._on_close,
            resources=resources or process_resources(connections_size(config.in_flight_size_max)),
        )
        self._broker: Broker | None = None
        self._registration: Registration | None = None
        self._replication: Replication | None = None
        self._endpoint: Endpoint | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._expiry_ms = 0
        self._flushed_ms = 0
        self._flushes: set[asyncio.Future[None]] = set()
        """Flushes that the clock began; they go on while the broker stops."""
        self._is_stopping = False

    @property
    def broker(self) -> Broker:
        """The broker's state.

        Raises:
            RuntimeError: the broker is not started.
        """
        if self._broker is None:
            raise RuntimeError("the broker is not started")
        return self._broker

    async def start(self) -> int:
        """Open the store, listen and register; return the port.

        Raises:
            StoreError: the store directory, one of its state files or brokerIP1 cannot be used.
            OSError: the port cannot be opened.
        """
        config, now_ms = self._config, self._clock.now_ms()
        pack_host(config.broker_ip1, config.listen_port)
        paths = StorePaths(Path(config.store.store_path_root_dir))
        # Every start of this broker writes this file, and the state files as well.
        was_used = (paths.root / SAFE_POINT).exists()
        opening = asyncio.get_running_loop().run_in_executor(self._disk, self._open_store, now_ms)
        store, ha_file, epochs = await opening
        try:
            any_port = config.listen_port == 0
            broker = await self._open(store, paths, was_used=was_used or store.written_offset > 0)
            if was_used and not config.is_slave:
                # In a store of the real broker alone, a topic that it deleted before a crash may
                # have queues again and looks like a lost one; there such topics are only logged.
                broker.make_lost_topics(now_ms=now_ms)
            if not config.is_slave:
                broker.complete_last_commit(now_ms=now_ms)
            replication = self._replication = Replication(
                broker,
                main=self._server,
                any_port=any_port,
                client=self._client,
                file=ha_file,
                epochs=epochs,
                restart=self._restart,
            )
            await replication.take_back()
            self._serve_clients(broker)
            await replication.start()
        except BaseException:
            await self._server.stop()
            store.close(self._clock.now_ms())
            self._disk.shutdown()
            self._log_files.shutdown()
            raise
        log_opening(broker)
        registration = self._registration = self._make_registration(broker, replication)
        replication.schedule(self._services)
        self._start_services(broker, registration)
        # Ask whether another master was promoted before this one registers.
        await replication.fence.round(self._clock.now_ms())
        # Wait for this, because a client that can connect may ask a name server right away.
        registered = asyncio.Event()
        registration.register_soon(registered.set)
        await registered.wait()
        replication.fence.end_asking()
        await self._open_grpc_port(broker)
        return config.listen_port

    def _open_store(self, now_ms: int) -> tuple[MessageStore, HaFile, EpochFile]:
        """Open the store and what is beside it; waits for the disk."""
        self._settings.load()
        ha_file = before_start(self._config)
        epochs = EpochFile.read(Path(self._config.store.store_path_root_dir))
        store = MessageStore.open(self._config.store, now_ms=now_ms, is_cut=ha_file.is_cut)
        return store, ha_file.store_opened(), epochs

    async def _open_grpc_port(self, broker: Broker) -> None:
        """Serve gRPC clients as well if grpcServerPort says so."""
        try:
            self._endpoint = await open_grpc_port(
                self._config, self._clock, access=broker.access, resources=self._server.resources
            )
        except BaseException:
            await self.stop()
            raise

    def _make_registration(self, broker: Broker, replication: Replication) -> Registration:
        fence = replication.fence
        registration = Registration(
            self._config,
            broker.topics,
            filter_servers=broker.filter_servers,
            client=self._client,
            clock=self._clock,
            on_master=replication.set_master_addresses,
            epoch=fence.registered_epoch,
            on_epoch=fence.hear_name_server,
            is_fenced=lambda: fence.is_fenced,
        )
        fence.fenced.add(replication.disconnect_slaves)
        fence.fenced.add(registration.leave)
        return registration

    async def _open(self, store: MessageStore, paths: StorePaths, *, was_used: bool) -> Broker:
        """Load the state and open the port, which serves nobody before ``_serve_clients``."""
        config, loop = self._config, asyncio.get_running_loop()
        stored = load_state(paths, config.store)
        # A slave copies its tables from its master, so it loses nothing.
        if was_used and not config.is_slave:
            for loss in loss_warnings(paths, stored, config.store):
                LOG.warning("%s", loss)
        # The port is part of every message id, so it is opened before the broker is created.
        config.listen_port = await self._server.start(config.bind_address, config.listen_port)
        broker = self._broker = Broker(
            config,
            store,
            clock=self._clock,
            files=self._files,
            stored=stored,
            sends=self._server.outbox,
            register_soon=self._register_soon,
            when_registered=self._when_registered,
            expect_deadline=self._expect_deadline,
            settings=self._settings,
        )
        broker.changed_settings.add(self._services.intervals_changed)
        broker.turn.open(loop)
        broker.cold.open(loop, broker.turn)
        broker.slices.open(loop)
        self._declare_files(broker, paths)
        for name in missing_files(stored):
            self._files.mark(name)
        addresses = broker.filter_servers.addresses
        broker.access = open_access(
            config, store, now_ms=self._clock.now_ms, filter_servers=addresses
        )
        return broker

    def _serve_clients(self, broker: Broker) -> None:
        """Connect the port with the handlers."""
        config, access = self._config, broker.access
        gate, found = make_gate(config, access), collect(handlers)
        if access is not None:
            gate, found = check_with_handler(gate, found)
        dispatcher = RequestDispatcher(
            found,
            broker,
            clock=self._clock,
            gate=gate,
            on_response=broker.calls.on_response,
        )
        # Connections accepted from here on pass their frames directly to the dispatcher.
        self._server.on_frame = dispatcher.on_frame
        self._server.on_bytes = plain_sends(broker.sender, self._clock, access)

    async def stop(self) -> None:
        """Stop the parts in order; afterwards all acknowledged messages are on the disk.

        Raises:
            StoreFailed: the last messages could not be written or flushed.
            OSError: a state file could not be written.
        """
        broker = self.broker
        self._is_stopping = True
        if self._endpoint is not None:
            # First, because its clients give back messages and leave their groups.
            await self._endpoint.stop()
        broker.sender.close()
        broker.store.cleaner.close()
        await self._services.stop()
        if self._registration is not None:
            await self._registration.stop()
        await self._client.close()
        if self._expiry is not None:
            self._expiry.cancel()
        broker.cold.close()
        broker.slices.close()
        if self._replication is not None:
            await self._replication.stop_following()
        await broker.turn.close()
        if self._replication is not None:
            await self._replication.stop()
        # Flush first: state files may only count what is on the disk. Neither the store nor the
        # timer begins a flush while one runs.
        for error in await asyncio.gather(*self._flushes, return_exceptions=True):
            if error is not None:
                LOG.error("a flush that ran when the broker stopped failed", exc_info=error)
        await self._run_job(broker.store.begin_flush())
        broker.settle()
        await self._run_timer_flush(broker.timer.flush_job(self._clock.now_ms(), at_end=True))
        broker.timer.close()
        # The last answers may wait until topics.json has the topics that their messages created.
        await self._files.settle()
        await self._server.stop()
        if self._topic_files is not None:
            self._topic_files.complete()
        try:
            await self._files.close()
        finally:
            self._disk.shutdown()
            self._log_files.shutdown()
            broker.store.close(self._clock.now_ms())

    # Frames.

    @staticmethod
    def _too_early(conn: ServerConn, raw: RawFrame) -> None:
        """Close a connection that sends before the start has ended."""
        conn.close()

    def _on_close(self, conn: ServerConn) -> None:
        if self._broker is not None:
            self._broker.connection_closed(conn)

    # State on disk.

    def _declare_files(self, broker: Broker, paths: StorePaths) -> None:
        paths.config.mkdir(parents=True, exist_ok=True)
        files = self._files
        topic_files = self._topic_files = TopicFiles(paths, broker.topics.table)
        files.add_written(topic_files.path, topic_files.take)
        files.add(paths.config_file("subscriptionGroup.json"), lambda: broker.groups.table().encode)
        files.add(
            paths.config_file(offset_files(self._config.store)[0]),
            lambda: broker.saved_offsets().encode,
            name="consumerOffset",
        )
        files.add(
            paths.config_file("delayOffset.json"), lambda: broker.delay.durable_offsets().encode
        )
        files.add(
            paths.config_file("consumerFilter.json"),
            lambda: partial(str, broker.filters.encode(self._clock.now_ms())),
        )
        files.add(
            paths.config_file(REQUEST_MODES),
            lambda: partial(str, broker.pops.modes.text()),
            is_needed=False,
        )
        metrics = broker.timer.metrics
        metrics.load(paths.config_file(TIMER_METRICS))
        files.add(
            paths.config_file(TIMER_METRICS),
            lambda: partial(str, metrics.encode()),
            is_needed=False,
        )
        settings = self._settings
        text, is_needed = lambda: partial(str, settings.text()), bool(settings.changed)
        files.add(settings.path, text, name=SETTINGS_FILE, is_needed=is_needed)
        files.open()

    def _complete_topics(self, now_ms: int) -> None:
        if self._topic_files is not None and self._topic_files.has_changes:
            self._topic_files.complete()
            self._files.mark("topics")

    def _save_offsets(self, now_ms: int) -> None:
        self._files.mark_changed("consumerOffset", self.broker.offsets.change_count)

    def _save_delay_offsets(self, now_ms: int) -> None:
        self.broker.delay.settle()
        self._files.mark_changed("delayOffset", self.broker.delay.change_count)

    def _save_filters(self, now_ms: int) -> None:
        self._files.mark_changed("consumerFilter", self.broker.filters.change_count)

    # Registration.

    def _register_soon(self) -> None:
        if self._registration is not None:
            self._registration.register_soon()

    def _when_registered(self, registered: Callable[[], None]) -> None:
        if self._registration is None:
            registered()
        else:
            self._registration.register_soon(registered)

    # Timers.

    def _start_services(self, broker: Broker, registration: Registration) -> None:
        config, store, every = self._config, broker.store, self._services.every
        every(
            lambda: config.register_name_server_period_ms,
            registration.round,
            name="registration",
            first_ms=REGISTER_FIRST_MS,
        )
        every(
            lambda: config.flush_consumer_offset_interval_ms,
            self._save_offsets,
            name="consumer offsets",
        )
        every(
            lambda: config.flush_delay_offset_interval_ms,
            self._save_delay_offsets,
            name="delay offsets",
        )
        every(TOPICS_MS, self._complete_topics, name="topics")
        every(FILTERS_MS, self._save_filters, name="filters")
        unsettled_ms = while_unsettled(store, HOUSEKEEPING_MS)
        every(unsettled_ms, self._housekeeping, name="store housekeeping")
        every(while_written(store, HOUSEKEEPING_MS), self._make_log_file, name="next log file")
        every(CLEAN_MS, self._clean, name="retention", first_ms=0)
        every(
            lambda: config.store.flush_interval_commit_log_ms, self._flush, name="commit log flush"
        )
        delayed_ms = while_used(store, DELAY_MS, SCHEDULE_TOPIC)
        every(delayed_ms, self._deliver_delayed, name="delayed messages", first_ms=0)
        popped_ms = while_used(store, POP_MS, revive_topic(config.broker_cluster_name))
        every(popped_ms, broker.pops.revive.run, name="popped messages", first_ms=0)
        broker.timer.may_continue.add(self._wake_timer)
        timers_ms = while_used(store, DELAY_MS, TIMER_TOPIC)
        every(timers_ms, self._deliver_timers, name="timer messages", first_ms=0)
        every(while_written(store, HOUSEKEEPING_MS), self._flush_timers, name="timer files")
        every(
            lambda: config.transaction_check_interval_ms,
            broker.check_transactions,
            name="transactions",
        )
        every(while_asked(broker.calls, CALLS_MS), broker.calls.expire, name="requests to clients")
        every(SECOND_MS, self._sample, name="statistics")
        every(SILENCE_SCAN_MS, self._drop_silent, name="silent clients")
        if broker.access is not None:
            every(ACL_SCAN_MS, broker.access.reload, name="access control files")
        self._services.start()

    def _expect_deadline(self, deadline_ms: int) -> None:
        """Set the timer to the earliest deadline of a held pull."""
        if self._expiry is not None:
            if self._expiry_ms <= deadline_ms:
                return
            self._expiry.cancel()
        self._expiry_ms = deadline_ms
        wait_s = max(0, deadline_ms - self._clock.now_ms()) / 1000
        self._expiry = asyncio.get_running_loop().call_later(wait_s, self._expire_pulls)

    def _expire_pulls(self) -> None:
        self._expiry = None
        # A timer may fire a little early; adding one ms avoids a second timer. If more pulls are
        # due than one slice answers, the next timer fires immediately.
        self.broker.puller.answer_expired(self._clock.now_ms() + 1)
        popper = self.broker.pops.popper
        popper.look(self._clock.now_ms() + 1)
        for deadline_ms in self.broker.hold.next_deadline_ms(), popper.waiting.next_look_ms():
            if deadline_ms is not None:
                self._expect_deadline(deadline_ms)

    def _deliver_delayed(self, now_ms: int) -> None:
        delay = self.broker.delay
        if self.broker.store.is_copy:
            return
        times = read_together(self._clock)
        if self.broker.turn.overload.refusal:
            delay.skew.observe(times)
        else:
            count = delay.deliver(times)
            if count:
                self.broker.turn.schedule()
            if not delay.is_caught_up or (count and delay.next_look_ms() <= times.steady_ms):
                # Continue a backlog on the next pass of the loop, after requests of clients.
                asyncio.get_running_loop().call_soon(self._deliver_more)

    def _deliver_more(self) -> None:
        if not self._is_stopping:
            self._deliver_delayed(self._clock.now_ms())

    def _deliver_timers(self, now_ms: int) -> None:
        broker = self.broker
        if broker.store.is_copy:
            broker.timer.stand_down(is_slave=self._config.is_slave)
        elif not broker.turn.overload.refusal and broker.timer.step(now_ms):
            self._wake_timer()

    def _wake_timer(self) -> None:
        """Continue with timer messages on the next pass of the loop, after requests of clients."""
        asyncio.get_running_loop().call_soon(self._deliver_more_timers)

    def _deliver_more_timers(self) -> None:
        if not self._is_stopping:
            try:
                self._deliver_timers(self._clock.now_ms())
            except OSError as error:
                LOG.error("the timer waits, its files cannot be used: %s", error)

    async def _flush_timers(self, now_ms: int) -> None:
        await self._to_its_end(self._run_timer_flush(self.broker.timer.flush_job(now_ms)))

    async def _to_its_end(self, flush: Coroutine[Any, Any, None]) -> None:
        """Wait for a flush, which goes on when this wait is cancelled; ``stop`` waits for it."""
        task = asyncio.ensure_future(flush)
        self._flushes.add(task)
        task.add_done_callback(self._flushes.discard)
        await asyncio.shield(task)

    async def _run_timer_flush(self, job: TimerFlush | None) -> None:
        if job is not None:
            await asyncio.get_running_loop().run_in_executor(self._disk, job.run)
            self.broker.timer.end_flush(job)
        self._files.mark_changed(TIMER_METRICS, self.broker.timer.metrics.change_count)

    def _drop_silent(self, now_ms: int) -> None:
        broker = self.broker
        for conn in {*broker.consumers.silent(now_ms), *broker.producers.silent(now_ms)}:
            LOG.warning("%s sent no heartbeat for too long, connection closed", conn.address)
            conn.close()
        broker.locks.drop_expired(now_ms)
        if broker.filter_servers.drop_silent(now_ms):
            broker.register_soon()

    async def _housekeeping(self, now_ms: int) -> None:
        await self._to_its_end(self._run_job(self.broker.store.housekeeping(now_ms)))

    async def _make_log_file(self, now_ms: int) -> None:
        job = self.broker.store.begin_next_file()
        try:
            await self._run_job(job, self._log_files)
        except asyncio.CancelledError:
            if job is not None:
                job.give_up()
            raise

    def _sample(self, now_ms: int) -> None:
        self.broker.stats.sample(now_ms, put_count=self.broker.store.put_count)

    async def _flush(self, now_ms: int) -> None:
        config, store = self._config.store, self.broker.store
        if config.is_sync_flush:
            self.broker.turn.expire(now_ms, timeout_ms=config.sync_flush_timeout_ms)
            return
        pages = (store.written_offset - store.flushed_offset) // PAGE_SIZE
        is_thorough = now_ms - self._flushed_ms >= config.flush_commit_log_thorough_interval_ms
        # On a slave, replication flushes before it acknowledges.
        if not store.is_copy and (pages >= config.flush_commit_log_least_pages or is_thorough):
            self._flushed_ms = now_ms
            await self._to_its_end(self._run_job(store.begin_flush()))

    async def _clean(self, now_ms: int) -> None:
        job = self.broker.store.cleaner.step(now_ms)
        if job is not None:
            await self._to_its_end(self._run_cleaning(job))

    async def _run_cleaning(self, job: DiskJob) -> None:
        await asyncio.get_running_loop().run_in_executor(self._log_files, job.run)
        self.broker.store.cleaner.end(job)

    async def _run_job(self, job: DiskJob | None, threads: Executor | None = None) -> None:
        """Let a thread run a job that waits for the disk, then report its end to the store."""
        if job is None:
            return
        await asyncio.get_running_loop().run_in_executor(threads or self._disk, job.run)
        try:
            self.broker.store.end_flush(job)
        except StoreFull as error:
            LOG.warning("done again later: %s", error)
        except StoreFailed as error:
            LOG.error("the store takes no more messages: %s", error)


def build() -> str:
    """Return what ``--version`` prints after the version."""
    # As at the start of a broker: the handlers bring kernels, too.
    collect(handlers)
    return build_line()


def main() -> int:
    """Run ``mqbroker`` until a signal stops it, and return the exit code."""
    return run(
        lambda config, restart: BrokerApp(config, SystemClock(), restart=restart), build=build
    )


if __name__ == "__main__":
    sys.exit(main())
