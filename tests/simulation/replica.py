"""One broker of the group: the real role machine, and what its broker does for it.

    controllers ── Controllers (real codecs) ──┐
    messages ──> log ──> sync ──> log_written ─┤ RoleMachine ──> actions ──> execute
    slaves, master ── copying ─────────────────┘

Rule: actions are carried out in their order. When a process ends between two of them, its disk has
what was written up to there.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from mqserver.broker.replicas.controllers import Controllers
from mqserver.broker.replicas.role import TICK_MS, RoleMachine, RoleSettings
from mqserver.broker.replicas.role_actions import (
    Action,
    AlterSet,
    Answer,
    ApplyId,
    Ask,
    Beat,
    CloseSends,
    Confirmed,
    Elect,
    Follow,
    Lead,
    OpenSends,
    Question,
    SaveHeard,
    SaveId,
    SaveTrialId,
    StandBy,
)
from remoting.codes import LaterCode
from remoting.command import Command
from remoting.errors import ConnectionLost
from remoting.headers.controller import BrokerHeartbeat
from tests.simulation.controllers import SimController
from tests.simulation.copying import Receiving, Sending
from tests.simulation.disk import RECORD, SimFiles, SimLog
from tests.simulation.network import Conn, Network
from tests.simulation.tables import Registration, SimNamesrv, SimOffsets, Tables
from tests.simulation.world import Parked, Process, Resume, World

if TYPE_CHECKING:
    from tests.simulation.observer import Observer

CLUSTER: Final = "C"
GROUP: Final = "g"
SETTINGS: Final = RoleSettings()
RECONNECT_MS: Final = 200


class SimControllers(Controllers):
    """The real requests to controllers; who leads is asked one after the other."""

    async def _find_leader(self, former: str = "") -> None:
        self.leader = ""
        for address in self._config.controller_addrs:
            leader = await self._leader_by(address)
            if leader:
                self.leader = leader
                if leader != former:
                    return


class ControllerLink:
    """The connections of one life of a broker to its controllers; a ``RemotingClient``."""

    def __init__(self, broker: "SimReplica") -> None:
        self._broker = broker
        self._conns: dict[str, Conn] = {}
        self._pending: dict[int, tuple[Conn, Resume]] = {}
        self._opaque = 0

    async def invoke(self, address: str, command: Command, *, timeout_s: float) -> Command:
        """Return the answer to a request."""
        answer = await Parked(lambda resume: self._send(address, command, timeout_s, resume))
        assert isinstance(answer, Command)
        return answer

    def _send(self, address: str, command: Command, timeout_s: float, resume: Resume) -> None:
        opaque = self.send(address, command)
        self._pending[opaque] = (self._conns[address], resume)
        self._broker.later(timeout_s * 1_000, self._fail, opaque)

    def send(self, address: str, command: Command) -> int:
        """Send a request, and return its number."""
        conn = self._conns.get(address)
        if conn is None or not conn.is_open:
            broker = self._broker
            conn = self._conns[address] = broker.network.connect(
                broker, broker.controllers[address], self, "request"
            )
        self._opaque += 1
        conn.send(self._broker, (self._opaque, command))
        return self._opaque

    def received(self, conn: Conn, payload: Any) -> None:
        """Give an answer to whoever waits for it."""
        opaque, response = payload
        _, resume = self._pending.pop(opaque, (None, None))
        if resume is not None:
            resume(response)

    def closed(self, conn: Conn) -> None:
        """Fail what waits for an answer on a connection."""
        for opaque in [key for key, (used, _) in self._pending.items() if used is conn]:
            self._fail(opaque)

    def _fail(self, opaque: int) -> None:
        _, resume = self._pending.pop(opaque, (None, None))
        if resume is not None:
            resume(None, ConnectionLost("no answer", address="controller"))


class SimReplica(Process):
    """One broker.

    Args:
        world: its time.
        name: also its address.
        rate: of its clock.
        network: with controllers and the other brokers.
        controllers: by address.
        peers: all brokers by address.
        observer: sees what it does.
        namesrv: where it registers.
        is_java_like: it acknowledges before it syncs, and forgets epochs without messages.
    """

    def __init__(
        self,
        world: World,
        name: str,
        *,
        rate: float,
        network: Network,
        controllers: dict[str, SimController],
        peers: dict[str, "SimReplica"],
        observer: "Observer",
        namesrv: SimNamesrv,
        is_java_like: bool = False,
    ) -> None:
        super().__init__(world, name, rate=rate)
        self.network = network
        self.controllers = controllers
        self.peers = peers
        self.is_java_like = is_java_like
        self.log = SimLog()
        self.files = SimFiles(world.random)
        self.sync_ms = (0.5, 3.0)
        self.crash_rate = 0.0
        """How often it dies before or after it saves or asks something."""
        self.cut_crash_rate = 0.0
        """How often it dies between the cut of its log and the epoch file."""
        self.observer = observer
        self.namesrv = namesrv
        self._offsets = SimOffsets()
        self._life = 0

    # Its life.

    def start(self) -> None:
        """Start a new life with what the disk has."""
        self.begin_life()
        self._life += 1
        self.world.note(self.name, "starts", self._life)
        self.accepts = False
        self.sendings: list[Sending] = []
        self.receiving: Receiving | None = None
        self._waiting: deque[tuple[int, int]] = deque()
        self._syncing: list[Callable[[], None]] = []
        self._is_syncing = False
        self._sync_end = 0
        self._lead: Lead | None = None
        self.was_master = False
        self._is_leaving = False
        self._queue_ends: list[int] = []
        self.log.recover()
        self.files.read_again()
        if self.is_java_like:
            self.files.heard = self.files.epochs[-1].epoch if self.files.epochs else 0
        self.files.log_ends_at(self.log.end)
        self.observer.recovered(self)
        self._link = ControllerLink(self)
        config = SimpleNamespace(
            broker_cluster_name=CLUSTER,
            broker_name=GROUP,
            broker_addr=self.name,
            controller_addrs=list(self.controllers),
            controller_addr=";".join(self.controllers),
        )
        self._controllers = SimControllers(self._link, config, self)  # type: ignore[arg-type]
        self.role = RoleMachine(
            self.files.identity,
            heard=self.files.heard,
            log_end=self.log.end,
            check_code=f"{self.name};{self._life}",
            settings=SETTINGS,
        )
        self.tables = Tables(self, self._offsets)
        self._registration = Registration(self)
        self.observer.offsets_changed(self)
        self.execute(self.role.start(self.steady_ms()))
        self.later(TICK_MS, self._tick)

    def _tick(self) -> None:
        self.execute(self.role.tick(self.steady_ms()))
        self.later(TICK_MS, self._tick)

    def stop(self, *, is_off: bool = False) -> None:
        """End this life: killed, or without power."""
        if not self.is_alive:
            return
        self.world.note(self.name, "loses power" if is_off else "is killed")
        self.observer.ending(self)
        self.end_life(is_off=is_off)
        if is_off and not self.is_java_like:
            self.log.lose_power(self.world.random)
        self.accepts, self.receiving, self.sendings = False, None, []
        self.network.process_ended(self)
        if not is_off:
            self.namesrv.routes.connection_closed(id(self))

    def accept(self, conn: Conn) -> Sending:
        """Return what handles the connection of a slave."""
        sending = Sending(self, conn)
        self.sendings.append(sending)
        return sending

    def notified(self) -> None:
        """Handle the notice that the master has changed."""
        self.execute(self.role.hint(self.steady_ms()))

    # Actions.

    def execute(self, actions: Sequence[Action]) -> None:
        """Carry out what the role machine wants, in order."""
        for index, action in enumerate(actions):
            if not self.is_alive or self._is_leaving:
                return
            if isinstance(action, (SaveHeard, SaveId, SaveTrialId)):
                problem = self._save(action)
                if problem:
                    self._not_saved(action, problem, actions[index + 1 :])
                    return
            else:
                self._act(action)

    def _act(self, action: Action) -> None:
        match action:
            case Ask(question):
                self._ask(question)
            case Beat():
                self._beat(action)
            case Lead():
                self._make_ready(action)
            case Follow():
                self._follow(action)
            case StandBy():
                self._leave_duties()
                self._leave_mastership()
            case OpenSends():
                self.accepts = True
                self._registration.register()
            case CloseSends():
                self.accepts = False
            case Confirmed():
                self._confirmed()
            case _:
                raise AssertionError(action)

    def _ask(self, question: Question) -> None:
        self.drive(self._controllers.ask(question), lambda answer: self._answered(question, answer))
        if isinstance(question, (AlterSet, ApplyId, Elect)) and self.world.chance(self.crash_rate):
            self.later(self.world.random.uniform(0.0, 3.0), self.crash, "after it asked")

    def _save(self, action: Action) -> str:
        if self.world.chance(self.crash_rate):
            self.crash("before it saves")
            return ""
        try:
            match action:
                case SaveHeard(epoch):
                    self.files.save_heard(epoch)
                case SaveTrialId(broker_id, check_code):
                    self.files.save_trial_id(broker_id, check_code)
                case SaveId(broker_id):
                    self.files.save_id(broker_id)
                    self.observer.identified(self, broker_id)
        except OSError as error:
            return str(error)
        if self.world.chance(self.crash_rate):
            self.crash("after it saved")
        return ""

    def _not_saved(self, action: Action, problem: str, rest: Iterable[Action]) -> None:
        now_ms = self.steady_ms()
        following = self.role.not_saved(action, problem, now_ms)
        for undone in rest:
            if isinstance(undone, Ask):
                following = following + self.role.unanswered(undone.question, now_ms)
        self.execute(following)

    def crash(self, when: str) -> None:
        """Die at a moment that only a bug or the machine chooses; it is started again."""
        self.world.note(self.name, "crashes", when)
        is_off = not self.is_java_like and self.world.chance(0.5)
        self.stop(is_off=is_off)
        self.world.at(self.world.random.uniform(50, 3_000), self.start_if_dead)

    def mend_disk(self) -> None:
        """Let the disk be as it should."""
        self.sync_ms, self.files.fail_rate = (0.5, 3.0), 0.0

    def start_if_dead(self) -> None:
        """Start unless something else started it."""
        if not self.is_alive:
            self.start()

    def _answered(self, question: Question, answer: Answer | None) -> None:
        now_ms = self.steady_ms()
        if answer is None:
            self.execute(self.role.unanswered(question, now_ms))
        else:
            self.execute(self.role.answered(question, answer, now_ms))
            self.observer.role_seen(self)

    def _beat(self, beat: Beat) -> None:
        header = BrokerHeartbeat(
            cluster_name=CLUSTER,
            broker_name=GROUP,
            broker_addr=self.name,
            broker_id=beat.broker_id,
            epoch=self.files.epochs[-1].epoch if self.files.epochs else -1,
            max_offset=beat.max_offset,
            confirm_offset=beat.confirm_offset,
            heartbeat_timeout_ms=SETTINGS.timeout_ms,
            election_priority=None,
        )
        command = Command.request(LaterCode.BROKER_HEARTBEAT, header, oneway=True)
        for address in self.controllers:
            self._link.send(address, command)

    def _leave_duties(self) -> None:
        self._lead = None
        self._waiting.clear()
        if self.receiving is not None:
            self.receiving.close()
            self.receiving = None
        for sending in list(self.sendings):
            sending.close()
        self.sendings.clear()

    def _leave_mastership(self) -> None:
        """Start anew in the same process, if this broker was the master."""
        if self.was_master and not self._is_leaving:
            self._is_leaving, self.accepts = True, False
            self.later(self.world.random.uniform(20, 200), self._restart)

    def _restart(self) -> None:
        self.world.note(self.name, "was replaced, and starts anew")
        self.stop()
        self.start()

    def _make_ready(self, lead: Lead) -> None:
        self._leave_duties()
        self._lead = lead
        if self.was_master:
            # As in GroupMember: a master that is elected again syncs nothing first.
            self._ready(lead)
        else:
            self.sync(lambda: self._ready(lead))

    def _ready(self, lead: Lead) -> None:
        if self._lead is not lead:
            return
        self._lead, self.was_master = None, True
        if self.world.chance(self.crash_rate):
            self.crash("before it begins an epoch")
            return
        try:
            self.files.begin_epoch(lead.epoch, self.log.end)
        except OSError as error:
            self.execute(self.role.not_led(str(error), self.steady_ms()))
            return
        self._queue_ends = self.log.queue_ends(self.queues_end())
        self.world.note(self.name, "leads by epoch", lead.epoch, "from", self.log.end)
        self.observer.led(self, lead.epoch)
        self.execute(self.role.led(self.log.end, self.steady_ms()))
        self.observer.role_seen(self)

    def _follow(self, follow: Follow) -> None:
        self.world.note(self.name, "follows", follow.address, "by epoch", follow.epoch)
        self._leave_duties()
        self._leave_mastership()
        if not self._is_leaving:
            self.tables.sync.follow_another()
            self._connect(follow)
            self._registration.register()

    # The log.

    def send(self, count: int) -> bool:
        """Handle a send of some messages; False if it is refused."""
        if not self.is_alive or not self.accepts or self.role.in_sync is None:
            return False
        start = self.log.end
        for _ in range(count):
            serial = self.observer.next_serial()
            queue_id = serial % len(self._queue_ends)
            record = RECORD.pack(serial, queue_id, self._queue_ends[queue_id])
            self._queue_ends[queue_id] += 1
            self.log.append(record)
        data = self.log.read(start, self.log.end)
        self.observer.appended(self, self.role.epoch, start, data)
        self._waiting.append((start, self.log.end))
        if self.is_java_like:
            self._written()
        self.sync(self._written)
        for sending in self.sendings:
            sending.push()
        return True

    def _written(self) -> None:
        self.execute(self.role.log_written(self.reported_end(), self.steady_ms()))

    def sync(self, done: Callable[[], None]) -> None:
        """Sync the log as it is now; ``done`` is called afterwards."""
        self._syncing.append(done)
        if not self._is_syncing:
            self._start_sync()

    def _start_sync(self) -> None:
        self._is_syncing = True
        waiting, self._syncing = self._syncing, []
        delay_ms = self.world.random.uniform(*self.sync_ms)
        self._sync_end = self.log.end
        self.later(delay_ms, self._synced, waiting)

    def _synced(self, waiting: list[Callable[[], None]]) -> None:
        self._is_syncing = False
        self.log.synced_end = max(self.log.synced_end, self._sync_end)
        for done in waiting:
            if self.is_alive:
                done()
        if self.is_alive:
            self.tables.settle()
        if self.is_alive and self._syncing and not self._is_syncing:
            self._start_sync()

    def _confirmed(self) -> None:
        in_sync = self.role.in_sync
        self.observer.confirmed(self)
        while in_sync is not None and self._waiting:
            start, end = self._waiting[0]
            if end > in_sync.answer_offset:
                break
            self._waiting.popleft()
            self.observer.acknowledged(self, start, end)

    # The slaves of a master.

    def one_connection_for(self, broker_id: int, newest: Sending) -> None:
        """Close older connections of a slave that has connected again."""
        for sending in list(self.sendings):
            if sending is not newest and sending.broker_id == broker_id:
                sending.close()

    def sending_ended(self, sending: Sending, *, was_counted: bool) -> None:
        """Note that the connection of a slave has ended."""
        if sending not in self.sendings:
            return
        self.sendings.remove(sending)
        if was_counted:
            self.execute(self.role.slave_disconnected(sending.broker_id, self.steady_ms()))

    # The master of a slave.

    def _connect(self, follow: Follow) -> None:
        if self.role.master != follow or self.receiving is not None:
            return
        master = self.peers[follow.address]
        conn = self.network.connect(self, master, self, "log")
        self.receiving = Receiving(self, follow, conn)
        conn.set_endpoint(self, self.receiving)

    def received(self, conn: Conn, payload: Any) -> None:
        """Do nothing: ``Receiving`` handles what comes."""

    def closed(self, conn: Conn) -> None:
        """Do nothing: ``Receiving`` notes the end."""

    def receiving_ended(self, receiving: Receiving) -> None:
        """Connect again after a while, if this is still the master."""
        if self.receiving is not receiving:
            return
        self.receiving = None
        self.later(
            RECONNECT_MS * self.world.random.uniform(0.5, 1.5), self._connect, receiving.follow
        )

    def cut_log(self, log_offset: int) -> None:
        """Remove the end of the log, which the master does not have."""
        self.world.note(self.name, "cuts its log", log_offset, "of", self.log.end)
        self.observer.cut(self, log_offset)
        self.log.cut(log_offset)
        self.observer.offsets_changed(self)
        # A sync that runs knows nothing of what is appended behind the cut.
        self._sync_end = min(self._sync_end, log_offset)
        if self.world.chance(self.cut_crash_rate):
            self.crash("between the cut and the epoch file")
            return
        try:
            self.files.log_ends_at(log_offset)
        except OSError:
            self.crash("as the epoch file cannot be written")

    def append_copy(self, log_offset: int, data: bytes) -> None:
        """Append what the master sent."""
        self.log.append(data)
        self.observer.copied(self, log_offset, data)

    def queues_end(self) -> int:
        """Return up to where a new master counts the messages of its queues."""
        return self.log.end

    def reported_end(self) -> int:
        """Return the end of the log that this broker takes for safe."""
        return self.log.end if self.is_java_like else self.log.synced_end

    def followed(self, confirm_offset: int) -> None:
        """Note how far the log is, and what the master said is confirmed."""
        self.execute(self.role.followed(self.log.synced_end, confirm_offset))
