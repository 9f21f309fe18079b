"""One broker of a group: carries out what its role machine decides.

    controllers ── answers ──> RoleMachine ── actions ──> files, heartbeats, questions
    slaves, log, ticks ───────────┘              └─ Lead, Follow, StandBy: one after another
                                                 └─ Confirmed: readers, answers to sends, slaves

Rule: every broker of a group starts as a slave that follows nobody. It becomes the master in the
running process; a master that is replaced starts again in the same process, as a slave, and cuts
its log there if the new master does not have the end of it (after a copy to ``tails/``). From the
moment at which a master is replaced it answers no waiting send with success.

Source: broker/controller/ReplicasManager.java (5.4.0).
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from mqserver.broker.config import BrokerRole
from mqserver.broker.ha.epoch import EpochFile
from mqserver.broker.ha.ha_file import HaFile
from mqserver.broker.ha.receiving import Diverged, SlaveState
from mqserver.broker.ha.replication import EXPIRE_MS, SYNC_FIRST_MS, SYNC_MS, Replication
from mqserver.broker.ha.slave_synchronize import MasterCalls
from mqserver.broker.ha.sync_master_wait import hold_done
from mqserver.broker.lost_topics import make_lost_topics
from mqserver.broker.replicas.controllers import Controllers
from mqserver.broker.replicas.frames import MasterHandshake
from mqserver.broker.replicas.group_files import GroupFiles, epoch_cache_of
from mqserver.broker.replicas.master_calls import ask_ha_address, must_cut_at
from mqserver.broker.replicas.receiving import ReplicaReceiver
from mqserver.broker.replicas.role import TICK_MS, RoleMachine, RoleSettings
from mqserver.broker.replicas.role_actions import (
    Action,
    Answer,
    Ask,
    Beat,
    CloseSends,
    Confirmed,
    Follow,
    Lead,
    OpenSends,
    Question,
    SaveHeard,
    SaveId,
    SaveTrialId,
    StandBy,
)
from mqserver.broker.replicas.roles import Role
from mqserver.broker.replicas.sending import GroupLinks, ReplicaLink, ReplicaServer
from mqserver.broker.serving.group_commit import Done
from mqserver.broker.state import Broker
from mqserver.runtime.periodic import Services
from mqserver.runtime.request import RequestRefused
from mqserver.store.store_errors import StoreFailed
from remoting.aio.client import RemotingClient
from remoting.aio.server import RemotingServer
from remoting.bodies.controller import EpochEntryCache
from remoting.codes import ResponseCode
from remoting.headers import ExchangeHaInfo
from storefmt.config.master_epochs import EpochStart

LOG = logging.getLogger(__name__)

HA_RETRY_S: Final = 0.1
"""Seconds until a new master is asked again for its HA address."""
SAFE_RETRY_S: Final = 0.01
ONLY_ELECTED: Final = (
    "this broker belongs to a group with a controller, which elects the master; choose one with "
    "`mqadmin controller elect GROUP ID`"
)


class ReplicaMember(Replication):
    """Replication of a broker that belongs to a group with a controller.

    Args:
        broker: the broker.
        main: the server of the main port.
        any_port: use any free port for slaves if the configured one is not available.
        client: connections to controllers, the master and name servers.
        file: the content of ``ha.json``.
        epochs: the content of ``epoch.json``, which means nothing in a group.
        restart: restarts the broker; None where no process would start it again.
        files: identity and epochs in the group.
    """

    def __init__(
        self,
        broker: Broker,
        *,
        main: RemotingServer,
        any_port: bool,
        client: RemotingClient,
        file: HaFile,
        epochs: EpochFile,
        restart: Callable[[], None] | None,
        files: GroupFiles,
    ) -> None:
        super().__init__(
            broker, main=main, any_port=any_port, client=client, file=file, epochs=epochs,
            restart=restart,
        )  # fmt: skip
        config, store = broker.config, broker.store
        self.links = GroupLinks(config, self._answer_offset)
        self._files = files
        self._controllers = Controllers(client, config, broker.clock)
        self.machine = RoleMachine(
            files.identity,
            heard=files.heard,
            log_end=store.written_offset,
            check_code=f"{config.broker_addr};{broker.clock.now_ms()}",
            settings=RoleSettings(
                heartbeat_ms=config.broker_heartbeat_interval_ms,
                timeout_ms=config.controller_heartbeat_timeout_ms,
                poll_ms=config.sync_broker_metadata_period_ms,
                lag_ms_max=config.ha_max_time_slave_not_catchup_ms,
                all_ack=config.all_ack_in_sync_state_set,
                ack_count=config.in_sync_replicas,
                members_min=config.min_in_sync_replicas,
            ),
        )
        self._opened_end = store.written_offset
        """The end of the log at the start; readers may see up to there already."""
        self._received_confirm = 0
        """The confirm offset that the master sent last."""
        self._is_started = False
        self._is_stopping = False
        """Whether this broker takes no part in its group any more; sends may still be answered."""
        self._is_leaving = False
        """Whether it was replaced, so that no send may be answered with success."""
        self._begun_epoch = 0
        """The last epoch by which it took messages as the master."""
        self._changes: asyncio.Queue[Lead | Follow | StandBy] = asyncio.Queue()
        self._changing: asyncio.Task[None] | None = None
        self._asks: set[asyncio.Task[None]] = set()
        self.sync.may_settle = self._has_begun
        store.confirm(0, broker.clock.now_ms())
        broker.group_commit.synced.add(self._log_safe)

    # Start and stop.

    async def start(self) -> None:
        """Wait as a slave for what the controller says."""
        self._follow()
        self._changing = asyncio.create_task(self._change_roles(), name="role in the group")

    async def take_back(self) -> None:
        """Do nothing: a master of a group takes over no offsets of slaves."""

    def schedule(self, services: Services) -> None:
        """Register the periodic tasks."""
        services.every(TICK_MS, self._tick, name="role in the group", first_ms=0)
        services.every(SYNC_MS, self.round, name="tables of the master", first_ms=SYNC_FIRST_MS)
        services.every(EXPIRE_MS, self.expire, name="slaves waited for")

    async def stop_following(self) -> None:
        """Receive no more, and take no part in the group any more, before the store is closed."""
        self._carry_out(self.machine.stop())
        self._is_stopping = True
        tasks = [*self._asks] + ([self._changing] if self._changing is not None else [])
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._controllers.stop()
        await super().stop_following()

    @property
    def is_unregistered(self) -> bool:
        """Tell whether name servers must not list this broker now."""
        is_slave = self._broker.config.is_slave
        return self.machine.role is not (Role.FOLLOWING if is_slave else Role.LEADING)

    @property
    def state_version(self) -> int:
        """The epoch of the master, which name servers compare."""
        return self.machine.epoch

    # What the machine decides.

    def _now(self) -> int:
        return self._broker.clock.steady_ms()

    def _tick(self, now_ms: int) -> None:
        if not self._is_started:
            self._is_started = True
            self._carry_out(self.machine.start(self._now()))
            return
        if self.receiver is not None:
            self._carry_out(self._followed())
        self._carry_out(self.machine.tick(self._now()))

    def _carry_out(self, actions: Sequence[Action]) -> None:
        """Carry out actions in order; what depends on a save that failed is left out."""
        for number, action in enumerate(actions):
            if self._is_leaving:
                return
            try:
                self._act(action)
            except OSError as error:
                if not isinstance(action, SaveHeard | SaveId | SaveTrialId):
                    LOG.exception("%s", action)
                    continue
                LOG.error("%s is not saved: %s", type(action).__name__, error)
                dropped = [left for left in actions[number + 1 :] if isinstance(left, Ask)]
                self._carry_out(self.machine.not_saved(action, str(error), self._now()))
                for ask in dropped:
                    self._carry_out(self.machine.unanswered(ask.question, self._now()))
                return

    def _act(self, action: Action) -> None:
        """Carry out one action.

        Raises:
            OSError: it was to save something, and the disk refused.
        """
        is_for_others = not isinstance(action, Confirmed | CloseSends)
        if self._is_stopping and is_for_others:
            return
        match action:
            case Ask(question):
                task = asyncio.create_task(self._ask(question))
                self._asks.add(task)
                task.add_done_callback(self._asks.discard)
            case Beat():
                epochs = self._files.epochs
                self._controllers.beat(action, epoch=epochs[-1].epoch if epochs else -1)
            case SaveTrialId(broker_id, code):
                self._files.save_trial_id(broker_id, code)
            case SaveId(broker_id):
                self._files.save_id(broker_id)
                self._broker.config.broker_id = broker_id
                LOG.info("this broker has id %d in its group", broker_id)
            case SaveHeard(epoch):
                self._files.save_heard(epoch)
            case OpenSends():
                self._open_sends()
            case CloseSends(why):
                self._close_sends(why)
            case Confirmed():
                is_slave = self._broker.config.is_slave
                self._confirm(self._received_confirm if is_slave else self.machine.confirm_offset)
            case Lead() | Follow() | StandBy():
                self._begin_change(action)

    async def _ask(self, question: Question) -> None:
        answer: Answer | None = None
        try:
            answer = await self._controllers.ask(question)
        except Exception:
            LOG.exception("a question to the controller, which is asked again: %s", question)
        if answer is None:
            self._carry_out(self.machine.unanswered(question, self._now()))
            return
        before = self.machine.problem
        actions = self.machine.answered(question, answer, self._now())
        if self.machine.problem and self.machine.problem != before:
            LOG.warning("controller, %s: %s", type(question).__name__, self.machine.problem)
        self._carry_out(actions)

    def master_changed(self) -> None:
        """Ask the controller who the master is, because somebody said that it changed."""
        self._carry_out(self.machine.hint(self._now()))

    # Roles.

    def _begin_change(self, change: Lead | Follow | StandBy) -> None:
        """Begin to change the role; the former role ends at once."""
        LOG.warning("role in the group: %s, %s", self.machine.role.name, change)
        if not isinstance(change, Lead) and not self._broker.config.is_slave:
            self._leave_mastership()
            return
        # At once: the former master gets no further acknowledgement.
        self._stand_by()
        self._changes.put_nowait(change)

    def _leave_mastership(self) -> None:
        """Stop being the master at once, and start anew as a slave."""
        if self._is_leaving or self._is_stopping:
            return
        self._is_leaving = True
        self.links.close()
        self.disconnect_slaves()
        if self._restart is None:
            LOG.error("this broker was replaced as the master; restart it, so that it follows")
            return
        LOG.warning("this broker was replaced as the master, and starts anew as a slave")
        self._restart()

    async def _change_roles(self) -> None:
        while True:
            change = await self._changes.get()
            try:
                match change:
                    case Lead(epoch):
                        await self._lead_by(epoch)
                    case StandBy():
                        self._stand_by()
                    case Follow():
                        await self._follow_master(change)
            except Exception:
                LOG.exception("%s", change)

    def _stand_by(self) -> None:
        receiver = self.receiver
        self.master = None
        if isinstance(receiver, ReplicaReceiver):
            receiver.follow_nobody()

    async def _follow_master(self, change: Follow) -> None:
        """Copy the log of another master from now on."""
        self._stand_by()
        name, sign = self._broker.config.broker_name, self.trust.sign
        self.master = calls = MasterCalls(self._client, change.address, sign=sign)
        self.sync.follow_another()
        self._broker.register_soon()
        problem = ""
        while self.machine.master == change and self._changes.empty():
            try:
                ha_address = await ask_ha_address(self._client, change, name=name, sign=sign)
            except OSError as error:
                if str(error) != problem:
                    problem = str(error)
                    LOG.info("master %s: no address for slaves: %s", calls.address, error)
                await asyncio.sleep(HA_RETRY_S)
                continue
            if self.receiver is not None:
                self.receiver.set_master(ha_address)
            return

    def exchange_ha_info(self, question: ExchangeHaInfo) -> ExchangeHaInfo:
        """Return where slaves connect, if this broker leads."""
        config = self._broker.config
        if self.machine.role is not Role.LEADING or config.is_slave:
            return ExchangeHaInfo()
        return ExchangeHaInfo(
            master_ha_address=config.ha_server_addr,
            master_flush_offset=self._broker.store.flushed_offset,
            master_address=config.broker_addr,
            master_epoch=self.machine.epoch,
        )

    async def _lead_by(self, epoch: int) -> None:
        """Become the master, or go on as the master of a new epoch."""
        try:
            await self._make_ready(epoch)
        except (OSError, StoreFailed) as error:
            LOG.error("this broker cannot lead by epoch %d: %s", epoch, error)
            self._carry_out(self.machine.not_led(str(error), self._now()))
            self._leave_mastership()
            return
        if self.machine.role is not Role.PROMOTING or self.machine.epoch != epoch:
            # It was replaced meanwhile, and is no longer a slave that could follow.
            self._leave_mastership()
            return
        store = self._broker.store
        self._carry_out(self.machine.led(store.raw.end, self._now()))
        LOG.warning("this broker is the master of epoch %d, from %d on", epoch, store.raw.end)

    async def _make_ready(self, epoch: int) -> None:
        broker, config, store = self._broker, self._broker.config, self._broker.store
        if not config.is_slave:
            await self._wait_until_safe()
            self._files.begin_epoch(epoch, store.raw.end)
            return
        await super().stop_following()
        self.receiver = self.master = None
        self._files.begin_epoch(epoch, store.raw.end)
        config.broker_role, config.broker_id = BrokerRole.SYNC_MASTER, 0
        await self._lead()
        broker.group_commit.hold_done = self._hold_done
        # An election makes the set this broker alone, so all of its log is confirmed. The queues
        # have to have it before the first message gets a queue offset.
        store.confirm(store.raw.end, broker.clock.now_ms())

    async def _wait_until_safe(self) -> None:
        """Wait for the disk, since a write that failed would move the end of the log back.

        Raises:
            OSError: this broker was replaced meanwhile.
        """
        while self._safe_end < self._broker.store.raw.end:
            await asyncio.sleep(SAFE_RETRY_S)
            if self.machine.role is not Role.PROMOTING:
                raise OSError("it was replaced while the log was written")

    async def _serve_slaves(self) -> None:
        broker, config = self._broker, self._broker.config
        server = ReplicaServer(
            broker.store,
            self.links,
            config=config,
            clock=broker.clock,
            may_connect=self._may_connect,
            places=self._main.resources.places,
            leadership=self,
        )
        await self._open_ha_port(server)

    def _begin_services(self) -> None:
        """Begin what only a master does, now that it takes messages."""
        broker, now_ms = self._broker, self._broker.clock.now_ms()
        broker.delay.look_again()
        broker.pops.revive.look_again()
        make_lost_topics(broker.context, now_ms=now_ms)
        broker.complete_last_commit(now_ms=now_ms)
        broker.apply_settings(now_ms=now_ms)

    # Messages.

    def _open_sends(self) -> None:
        broker = self._broker
        broker.store.is_copy, broker.sender.refusal = False, ""
        broker.sender.forget_routes()
        if self._begun_epoch != self.machine.epoch:
            self._begun_epoch = self.machine.epoch
            self._begin_services()
            broker.topics.touch(broker.clock.now_ms())
            broker.register_soon()

    def _close_sends(self, why: str) -> None:
        LOG.warning("this broker takes no messages: %s", why)
        # Messages that were put in this turn are still written; replicas decide about answers.
        self._broker.group_commit.commit()
        self._broker.store.is_copy = True
        self._broker.sender.refusal = f"this broker takes no messages: {why}"
        self._broker.sender.forget_routes()

    def _hold_done(self, calls: list[Done], begin: int, log_end: int, now_ms: int) -> list[Done]:
        return hold_done(self.links, calls, begin=begin, log_end=log_end, now_ms=now_ms)

    def _answer_offset(self) -> int:
        in_sync = self.machine.in_sync
        return -1 if in_sync is None or self._is_leaving else in_sync.answer_offset

    def _notify(self) -> None:
        super()._notify()
        if not self._broker.config.store.is_sync_flush:
            self._log_safe()

    def _log_safe(self) -> None:
        """Note that more of the log is as safe as this broker's own settings promise."""
        self._carry_out(self.machine.log_written(self._safe_end, self._now()))

    @property
    def _safe_end(self) -> int:
        """Up to where the log is as safe as this broker's own settings promise."""
        store = self._broker.store
        is_sync = self._broker.config.store.is_sync_flush
        return store.flushed_offset if is_sync else store.written_offset

    def _confirm(self, confirm_offset: int) -> None:
        """Let readers see, and answer, what every required replica has."""
        broker = self._broker
        now_ms = broker.clock.now_ms()
        broker.store.confirm(confirm_offset, now_ms)
        self.links.settle()
        broker.puller.answer_woken(now_ms)
        broker.pops.popper.answer_woken()
        if isinstance(self._server, ReplicaServer):
            self._server.confirmed()

    # Slaves.

    @property
    def epochs(self) -> Sequence[EpochStart]:
        """The epochs of the log, the oldest first."""
        return self._files.epochs

    @property
    def confirm_offset(self) -> int:
        """Up to where every required replica has the log."""
        return self.machine.confirm_offset

    def slave_began(self, link: ReplicaLink) -> None:
        """Note a slave that says where its log ends."""
        assert link.handshake is not None
        machine, is_learner, now_ms = self.machine, link.handshake.is_learner, self._now()
        self._carry_out(
            machine.slave_connected(
                link.broker_id, link.acked_offset, now_ms, is_learner=is_learner
            )
        )

    def slave_reported(self, link: ReplicaLink) -> None:
        """Note how far a slave has the log."""
        self._carry_out(
            self.machine.slave_acknowledged(
                link.broker_id, link.acked_offset, sent_end=link.sent_offset, now_ms=self._now()
            )
        )

    def slave_gone(self, link: ReplicaLink) -> None:
        """Note that the connection of a slave has ended."""
        self._carry_out(self.machine.slave_disconnected(link.broker_id, self._now()))

    # Following.

    def _follow(self) -> None:
        broker = self._broker
        self.receiver = ReplicaReceiver(
            broker.store,
            config=broker.config,
            clock=broker.clock,
            files=self._files,
            broker_id=lambda: self.machine.broker_id or 0,
            compare=self._compare,
            greeted=self._greeted,
            epoch_shown=self._check_epoch,
            written=self._written,
            confirmed=self._master_confirmed,
        )
        self.receiver.start()

    def set_master_addresses(self, master_addr: str | None, ha_addr: str | None) -> None:
        """Pass over what a name server says: the controller names the master."""

    def _has_begun(self) -> bool:
        return self.receiver is not None and self.receiver.state is SlaveState.RECEIVING

    async def _compare(self) -> None:
        """Copy the tables of the master before its log, since this slave may be elected soon.

        Raises:
            OSError: the master does not answer.
        """
        self._broker.store.raw.cut()
        master = self.master
        if master is None:
            raise OSError("the group has no master")
        log_range = await master.log_range()
        self.sync.master_end, self.sync.answered_end = log_range.log_end, log_range.answered_end
        await self._copy_tables(master)

    def _check_epoch(self, epoch: int) -> None:
        """Receive nothing of an epoch that the controller has not named to this broker yet.

        A late answer of the controller about an older epoch would be believed otherwise, and what
        is acknowledged here by then would be cut. Raises OSError.
        """
        heard = self.machine.heard
        if epoch > heard:
            self.master_changed()
            raise OSError(f"it leads by epoch {epoch}, and this broker has heard of {heard}")

    async def _greeted(self, handshake: MasterHandshake) -> None:
        """Cut what the master does not have, if there is any; raises as ``must_cut_at``."""
        if self.master is None:
            raise OSError("the group has no master")
        store, epochs = self._broker.store, self._files.epochs
        log_offset = await must_cut_at(store, epochs, handshake=handshake, master=self.master)
        if log_offset is not None:
            self._cut(log_offset)

    def _cut(self, log_offset: int) -> None:
        """Let the next start cut the log, which is now; raises Diverged."""
        end = self._broker.store.raw.end
        self._file = self._file.replace(parts_at=log_offset, cut_tail=True)
        text = f"{end - log_offset} bytes from {log_offset} on are not in the master's log"
        if self._restart is None:
            raise Diverged(f"{text}; restart this broker, so that it copies them out and cuts them")
        LOG.warning("%s; this broker starts anew to copy them to tails/ and cut them", text)
        self._is_leaving = True
        self._restart()
        raise Diverged(text)

    def _master_confirmed(self, confirm_offset: int) -> None:
        if confirm_offset > self._received_confirm:
            self._received_confirm = confirm_offset
            self._confirm(confirm_offset)

    def _followed(self) -> Sequence[Action]:
        return self.machine.followed(self._broker.store.written_offset, self._received_confirm)

    def pull_refusal(self) -> str:
        """Return why this slave serves no pulls; empty when it serves them."""
        if self._broker.config.is_slave and self._received_confirm < self._opened_end:
            return "this slave does not know yet which of its messages are confirmed"
        return super().pull_refusal()

    # Requests of tools.

    async def promote(self, role: BrokerRole | None, *, force: bool) -> str:
        """Refuse: the controller elects."""
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"not promoted: {ONLY_ELECTED}")

    def demote(self, broker_id: int, *, cut_tail: bool, force: bool) -> str:
        """Refuse: the controller elects."""
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"not demoted: {ONLY_ELECTED}")

    def epoch_cache(self) -> EpochEntryCache:
        """Return under which masters the log was written."""
        log_end = self._broker.store.written_offset
        return epoch_cache_of(self._broker.config, self._files.epochs, log_end=log_end)

    def numbers(self) -> dict[str, str]:
        """Return the entries of the runtime information that are about replication."""
        leader = {"controllerLeader": self._controllers.leader}
        return super().numbers() | self.machine.numbers() | leader
