"""The part one broker plays in replication, and how it becomes another one.

    master   port for slaves, answers that wait for them (SYNC_MASTER)
    slave    log from the master, tables from the master, nothing put, nothing delivered
                 └─ promote ──> log ends at its last whole record ──> master

Rule: a slave becomes a master by an order and by nothing else. It refuses while its master
lives, when it is behind what the master last said, and when its log parts from the master's;
an order that insists is carried out and logged.

Source: broker/BrokerController.java#handleSlaveSynchronize, #changeToMaster.
"""

import logging
from collections.abc import Callable
from typing import Final

from remoting.aio.client import RemotingClient
from remoting.aio.resources import Resources
from remoting.aio.server import RemotingServer, ServerConn
from remoting.codes import ResponseCode
from remoting.frame import RawFrame
from server.broker.config import BrokerRole, SlaveStart
from server.broker.haresync import HaFile
from server.broker.ports import open_fast_port
from server.broker.refusal import Refused
from server.broker.slavesync import MasterCalls, SlaveSync, keys_below
from server.broker.slavewait import hold
from server.broker.state import Broker
from server.broker.tails import Parting, compare
from server.broker.turn import Ack
from server.ha.links import Links
from server.ha.receiving import Diverged, Receiver, ReceivingSettings, SlaveState
from server.ha.sending import SendingSettings, SlaveServer
from server.runtime.gate import address_list
from server.runtime.hostaddress import is_loopback
from server.runtime.service import Services
from storefmt.errors import StoreError

OnFrame = Callable[[ServerConn, RawFrame], None]
LOG = logging.getLogger(__name__)

SYNC_MS: Final = 10_000
SYNC_FIRST_MS: Final = 1_000
EXPIRE_MS: Final = 100


class Replication:
    """Replication of one broker.

    Args:
        client: connections to the master.
        file: what is kept about it between two runs.
    """

    def __init__(self, broker: Broker, *, client: RemotingClient, file: HaFile) -> None:
        config = broker.config
        self.links = Links(
            behind_max=config.ha_slave_fallbehind_max, timeout_ms=config.slave_timeout_ms
        )
        self.receiver: Receiver | None = None
        self.sync = SlaveSync(
            topics=broker.topics, groups=broker.groups, offsets=broker.offsets, delay=broker.delay
        )
        self.master: MasterCalls | None = None
        self._broker = broker
        self._client = client
        self._file = file
        self._server: SlaveServer | None = None
        self._fast: RemotingServer | None = None
        self._on_frame: OnFrame = lambda conn, raw: conn.close()
        self._any_port = False
        self._resources: Resources | None = None
        self._keys: tuple[str, str] | None = None
        broker.store.is_copy = config.is_slave
        broker.ha_numbers = self.numbers
        broker.promote = self._answer_promotion
        broker.pull_checks.slave_refusal = self._pull_refusal
        broker.store.raw.topic_remade = self._topic_remade

    async def start(
        self, on_frame: OnFrame, *, any_port: bool, resources: Resources | None = None
    ) -> None:
        """Listen for slaves, or follow the master.

        Args:
            on_frame: takes the requests of the second port.
            resources: what the second port shares with the first.
            any_port: take any port where the usual one cannot be had.

        Raises:
            OSError: the port cannot be had, or the keys of a slave cannot be read.
        """
        self._on_frame, self._any_port, self._resources = on_frame, any_port, resources
        if self._broker.config.is_slave:
            self._follow()
        else:
            await self._lead()

    async def _lead(self) -> None:
        broker, config = self._broker, self._broker.config
        server = SlaveServer(
            broker.store,
            self.links,
            settings=SendingSettings(
                batch_size=config.ha_transfer_batch_size,
                heartbeat_ms=config.ha_send_heartbeat_interval_ms,
                housekeeping_ms=config.ha_housekeeping_interval_ms,
            ),
            clock=broker.clock,
            may_connect=self._may_connect,
            refused_hint="slaveAddresses",
        )
        port = config.ha_listen_port or config.listen_port + 1
        try:
            config.ha_listen_port = await server.start(config.bind_address, port)
        except OSError as error:
            if not self._any_port:
                raise OSError(error.errno, f"port {port}, where slaves connect: {error}") from error
            config.ha_listen_port = await server.start(config.bind_address, 0)
        self._server = server
        self._fast = await open_fast_port(
            config,
            on_frame=self._on_frame,
            on_close=broker.connection_closed,
            resources=self._resources,
        )
        broker.turn.on_written = server.notify
        if config.broker_role is BrokerRole.SYNC_MASTER:
            broker.turn.hold = self._hold

    def _hold(self, acks: list[Ack], begin: int, log_end: int, now_ms: int) -> list[Ack]:
        return hold(self.links, acks, begin=begin, log_end=log_end, now_ms=now_ms)

    def _may_connect(self, ip: str, local_ip: str) -> bool:
        key = "slaveAddresses"
        allowed = address_list(self._broker.config.slave_addresses, key=key)
        return is_loopback(ip) or ip == local_ip or allowed.matches(ip)

    def _follow(self) -> None:
        broker, config = self._broker, self._broker.config
        self._keys = keys_below(config.rocketmq_home)
        self.receiver = Receiver(
            broker.store,
            settings=ReceivingSettings(
                heartbeat_ms=config.ha_send_heartbeat_interval_ms,
                housekeeping_ms=config.ha_housekeeping_interval_ms,
            ),
            clock=broker.clock,
            compare=self._compare,
            written=self._written,
        )
        self.receiver.start()
        if config.ha_master_address:
            self.receiver.set_master(config.ha_master_address)

    async def stop_following(self) -> None:
        """Take nothing from the master any more; the log ends with a whole record then."""
        if self.receiver is not None:
            await self.receiver.stop()
            self._broker.store.raw.cut()

    async def stop(self) -> None:
        """Give slaves a moment for what is waited for, then close their connections."""
        if self._server is not None:
            await self._server.drain()
            await self._server.stop()
        if self._fast is not None:
            await self._fast.stop()

    # Following a master.

    def told(self, master_addr: str | None, ha_addr: str | None) -> None:
        """Learn from a name server where the master is."""
        if self.receiver is None or not self._broker.config.is_slave:
            return
        if master_addr and (self.master is None or self.master.address != master_addr):
            self.master = MasterCalls(self._client, master_addr, keys=self._keys)
        if ha_addr and not self._broker.config.ha_master_address:
            self.receiver.set_master(ha_addr)

    def _written(self) -> None:
        now_ms = self._broker.clock.now_ms()
        self.sync.settle(self._broker.store.flushed_offset)
        self._broker.puller.answer_woken(now_ms)

    async def _compare(self) -> None:
        """Hold this log against the master's before anything is asked for.

        Raises:
            Diverged: it is another one.
            OSError: the master does not say.
        """
        store, config = self._broker.store, self._broker.config
        store.raw.cut()
        if self.master is None:
            if not config.ha_master_address:
                raise OSError("no name server has said where the master's other port is")
            LOG.warning("without a name server the logs are not compared")
            return
        found = await self.master.log_range()
        self.sync.master_end, self.sync.answered_end = found.log_end, found.answered_end
        # A slave may have to take over before the first round is due.
        await self.round(self._broker.clock.now_ms())
        if store.raw.is_empty:
            # Of an empty log the last file is the first.
            if config.slave_starts_at is SlaveStart.FIRST_FILE and found.log_end:
                self._begin_at(found.log_min)
            return
        try:
            await compare(
                store.raw,
                log_min=store.min_log_offset,
                master_min=found.log_min,
                record_at=self.master.record_at,
            )
        except Parting as parting:
            self._file = self._file.saying(parts_at=parting.log_offset)
            raise Diverged(
                f"{parting}; look at both with `mqadmin store diff`, then start this slave with "
                "slaveResync=true, which drops them, or promote it"
            ) from parting
        if self._file.parts_at is not None:
            self._file = self._file.saying()

    def _begin_at(self, log_offset: int) -> None:
        """Let this empty log begin where the master's does."""
        if log_offset:
            self._broker.store.raw.start_at(log_offset)
            return
        # A report of 0 asks for the last file. The first byte of a log is that of the size of
        # its first record: 0 in every log, for no record has 16 MiB.
        self._broker.store.raw.append(b"\0")
        self._broker.store.write(self._broker.clock.now_ms())

    def _topic_remade(self, topic: str, log_offset: int) -> None:
        """Let the queues of a topic begin anew: the master has deleted it in between."""
        LOG.info("topic %s begins anew at log offset %d, as on the master", topic, log_offset)
        self._broker.store.write(self._broker.clock.now_ms())
        self._broker.drop_queues(topic, log_end=log_offset)

    def schedule(self, services: Services) -> None:
        """Add what is to be done now and then."""
        first_ms = SYNC_FIRST_MS
        services.every(SYNC_MS, self.round, name="tables of the master", first_ms=first_ms)
        services.every(EXPIRE_MS, self.expire, name="slaves waited for")

    async def round(self, now_ms: int) -> None:
        """Copy the tables of the master."""
        if self.receiver is None or self.master is None or not self._broker.config.is_slave:
            return
        try:
            gone = await self.sync.round(self.master)
        except (OSError, StoreError) as error:
            LOG.info("tables of the master are not copied: %s", error)
            return
        for topic in gone:
            if not self._broker.topics.is_system(topic):
                self._broker.drop_queues(topic, log_end=self._broker.store.written_offset)
        self.sync.settle(self._broker.store.flushed_offset)

    def expire(self, now_ms: int) -> None:
        """Answer whoever has waited for a slave for too long."""
        self.links.expire(now_ms)

    # Becoming a master.

    def _pull_refusal(self) -> str:
        """Why nothing may be read here; empty when all is well."""
        receiver = self.receiver
        if receiver is None or receiver.state is not SlaveState.DIVERGED:
            return ""
        return f"the log of this slave is not its master's: {receiver.divergence}"

    def staleness(self) -> str:
        """Return why this slave should not become the master; empty when it may."""
        receiver, end = self.receiver, self._broker.store.raw.whole_offset
        if receiver is None:
            return ""
        if receiver.state is SlaveState.RECEIVING:
            return "its master is alive and would be a master, too: stop that one first"
        if receiver.divergence:
            return receiver.divergence
        if self.sync.answered_end < 0:
            return "it has not heard of a master since it started: nobody knows what it lacks"
        if end < self.sync.answered_end:
            return f"it lacks {self.sync.answered_end - end} bytes of its master's log"
        return ""

    def _heard(self) -> str:
        """Return how old is what this slave knows of its master, for people."""
        if self.receiver is None or not self.receiver.heard_ms:
            return "its master was not heard since the start"
        elapsed_ms = self._broker.clock.now_ms() - self.receiver.heard_ms
        return f"its master was heard {max(0, elapsed_ms) // 1000} s ago"

    async def promote(self, role: BrokerRole, *, force: bool) -> str:
        """Become the master; returns what was done, for people.

        Raises:
            Refused: this is no slave, or it is stale and ``force`` does not insist.
            OSError: the port for slaves cannot be had, or a file could not be written.
        """
        config, store = self._broker.config, self._broker.store
        if not config.is_slave or role is BrokerRole.SLAVE:
            raise Refused(ResponseCode.SYSTEM_ERROR, f"this broker is {config.broker_role.name}")
        stale = self.staleness()
        if stale and not force:
            raise Refused(ResponseCode.SYSTEM_ERROR, f"not promoted: {stale}")
        LOG.warning(
            "promotion to %s at log offset %d was ordered%s", role.name, store.raw.whole_offset,
            f", although {stale}" if stale else "",
        )  # fmt: skip
        heard = self._heard()
        await self.stop_following()
        self.receiver = None
        config.broker_role, config.broker_id = role, 0
        await self._lead()
        self._file = self._file.saying(promoted=role)
        store.is_copy = False
        self._broker.delay.look_again()
        self._broker.settings_changed(now_ms=self._broker.clock.now_ms())
        self._broker.topics.touch(self._broker.clock.now_ms())
        text = f"is {role.name} now, from log offset {store.written_offset} on; {heard}"
        LOG.warning("this broker %s", text)
        return f"{text}; set brokerRole={role.name} and brokerId=0 in its configuration file"

    async def _answer_promotion(self, role: BrokerRole, force: bool) -> tuple[int, str]:
        """Return code and remark of the answer to an order to promote."""
        try:
            return ResponseCode.SUCCESS, await self.promote(role, force=force)
        except Refused as refused:
            return refused.code, refused.remark
        except OSError as error:
            LOG.exception("promotion")
            return ResponseCode.SYSTEM_ERROR, f"promoted in part: {error}; see the broker's log"

    def numbers(self) -> dict[str, str]:
        """Return what the runtime information tells of replication."""
        config, store = self._broker.config, self._broker.store
        found = {"haRole": config.broker_role.name, "haConnectedSlaves": str(len(self.links.links))}
        if not config.is_slave:
            found["haAnsweredOffset"] = str(self.links.answered_offset(store.written_offset))
        for number, link in enumerate(self.links.links):
            found[f"haSlave_{number}"] = (
                f"{link.address},{link.sent_offset},{link.acked_offset},"
                f"{store.written_offset - link.acked_offset},{link.heard_ms}"
            )
        if self.receiver is not None:
            receiver = self.receiver
            found |= {
                "haState": receiver.state.name,
                "haMaster": receiver.master,
                "haMasterEnd": str(self.sync.master_end),
                "haFlushedOffset": str(store.flushed_offset),
                "haHeardTimestamp": str(receiver.heard_ms),
                "haDivergence": receiver.divergence,
                "haProblem": receiver.problem,
            }
        return found
