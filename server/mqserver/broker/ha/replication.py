"""The role of one broker in replication, and how promotion and demotion change it.

    master   listens for slaves; answers can wait for them (SYNC_MASTER)
    slave    copies log and tables of the master; stores no sends, delivers no delayed messages
                 └─ promote ──> the log is cut after its last whole record ──> master
    fenced   a master that was replaced: serves no slaves, stores no sends, is not registered
                 └─ demote ──> noted in ha.json ──> restarts as a slave

Rule: a slave becomes a master only by an order of an administrator. It refuses while its master
is alive, when it lacks bytes that its master has reported, and when its log diverges from the
master's; with --force it obeys and logs that. ``mqserver.broker.ha.fence`` decides which of two
masters accepts messages.

Source: broker/BrokerController.java#handleSlaveSynchronize, #changeToMaster.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from mqserver.broker.config import BrokerRole, SlaveStart
from mqserver.broker.deletions import delete_queues
from mqserver.broker.ha.epoch import EpochFile
from mqserver.broker.ha.fence import Fence, Peer
from mqserver.broker.ha.ha_file import HaFile
from mqserver.broker.ha.links import Links
from mqserver.broker.ha.log_compare import LogsDiverged, compare
from mqserver.broker.ha.receiving import Diverged, Receiver, SlaveState, tell_epoch
from mqserver.broker.ha.returning import ASK_S, ReturningMaster
from mqserver.broker.ha.sending import SlaveServer
from mqserver.broker.ha.slave_synchronize import MasterCalls, MasterRange, SlaveSync, own_keys
from mqserver.broker.ha.sync_master_wait import await_slaves
from mqserver.broker.ha.trust import Trust
from mqserver.broker.lost_topics import make_lost_topics
from mqserver.broker.ports import open_fast_port, server_of
from mqserver.broker.serving.group_commit import Ack
from mqserver.broker.state import Broker, Ha
from mqserver.runtime.access.admin_gate import address_list
from mqserver.runtime.access.hostaddress import is_loopback
from mqserver.runtime.periodic import Services
from mqserver.runtime.request import RequestRefused
from remoting.address import split_address
from remoting.aio.client import RemotingClient
from remoting.aio.server import RemotingServer
from remoting.codes import ResponseCode
from remoting.errors import BadCall
from remoting.headers import GetEpoch, GetEpochResponse
from storefmt.config.tables import ConsumerOffsets
from storefmt.errors import StoreError

LOG = logging.getLogger(__name__)

SYNC_MS: Final = 10_000
SYNC_FIRST_MS: Final = 1_000
EXPIRE_MS: Final = 100


class Replication(Ha):
    """Replication of one broker.

    Args:
        broker: the broker whose role this is.
        main: the server of the main port, whose handler and limits the fast port has as well.
        any_port: use any free port for slaves if the configured one is not available.
        client: connections to the master, other brokers and name servers.
        file: the content of ``ha.json``.
        epochs: the content of ``epoch.json``.
        restart: restarts the broker; None where no process would start it again.

    Raises:
        OSError: the keys of a slave cannot be read.
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
    ) -> None:
        config = broker.config
        self.links = Links(config)
        self.receiver: Receiver | None = None
        self.sync = SlaveSync(
            topics=broker.topics,
            groups=broker.groups,
            offsets=broker.offsets,
            delay=broker.delay,
            on_modes=broker.adopt_modes,
        )
        self.master: MasterCalls | None = None
        self._broker = broker
        self._client = client
        self._file = file
        self._restart = restart
        self._server: SlaveServer | None = None
        self._fast: RemotingServer | None = None
        self._main, self._any_port = main, any_port
        self.trust = Trust(
            config,
            keys=self._read_keys(),
            access=lambda: broker.access,
            now_ms=broker.clock.now_ms,
        )
        broker.store.is_copy = config.is_slave
        self.fence = Fence(broker, client=client, file=epochs, trust=self.trust)
        self._letting_go: asyncio.Task[None] | None = None
        broker.ha = self
        broker.group_commit.written.add(self._notify)
        broker.store.raw.topic_remade.add(self._topic_remade)

    def _read_keys(self) -> tuple[str, str] | None:
        try:
            return own_keys(self._broker.config)
        except OSError as error:
            if self._broker.config.is_slave:
                raise
            LOG.warning("cannot read the keys that prove this broker to others: %s", error)
            return None

    async def start(self) -> None:
        """Listen for slaves, or follow the master; raises OSError if the port cannot be opened."""
        if self._broker.config.is_slave:
            self._follow()
        else:
            await self._lead()

    async def take_back(self) -> None:
        """Take over what clients committed to slaves while this master was away.

        Call it before the first client is served.
        """
        broker, client, sign = self._broker, self._client, self.trust.sign
        if broker.config.is_slave or self.fence.is_fenced or not broker.store.written_offset:
            return
        returning = ReturningMaster(
            broker,
            client=client,
            calls=lambda address: MasterCalls(client, address, sign=sign, timeout_s=ASK_S),
            may_ask=self.may_ask,
            challenge=self.fence.ask,
            epoch=self.fence.file.epoch,
        )
        await returning.catch_up()

    def may_ask(self, address: str) -> bool:
        """Return whether this master believes a slave at an address about offsets.

        These are the brokers in brokerAddresses, and the addresses that may connect as slaves.
        """
        config = self._broker.config
        ip = split_address(address)[0]
        return address in config.other_brokers or self._may_connect(ip, config.broker_ip1)

    def offsets_beyond_master(self) -> ConsumerOffsets | None:
        """Return the offsets that a slave did not copy from its master; None for a master."""
        return self.sync.beyond_master() if self._broker.config.is_slave else None

    async def _lead(self) -> None:
        """Open the fast port, and the HA port for slaves unless this master is fenced.

        Raises:
            OSError: one of the ports cannot be opened.
        """
        broker, config = self._broker, self._broker.config
        if not self.fence.is_fenced:
            await self._serve_slaves()
        if self._fast is None:
            server = server_of(
                config,
                on_frame=self._main.on_frame,
                on_close=broker.connection_closed,
                resources=self._main.resources,
            )
            self._fast = await open_fast_port(server, config)
        if config.broker_role is BrokerRole.SYNC_MASTER:
            broker.group_commit.await_slaves = self._await_slaves

    async def _serve_slaves(self) -> None:
        broker, config = self._broker, self._broker.config
        server = SlaveServer(
            broker.store,
            self.links,
            config=config,
            clock=broker.clock,
            may_connect=self._may_connect,
            heard_epoch=self.fence.hear_slave,
            places=self._main.resources.places,
        )
        await self._open_ha_port(server)

    async def _open_ha_port(self, server: SlaveServer) -> None:
        config = self._broker.config
        port = config.ha_listen_port or config.listen_port + 1
        try:
            config.ha_listen_port = await server.start(config.bind_address, port)
        except OSError as error:
            if not self._any_port:
                raise OSError(error.errno, f"port {port}, where slaves connect: {error}") from error
            config.ha_listen_port = await server.start(config.bind_address, 0)
        self._server = server

    def _notify(self) -> None:
        if self._server is not None:
            self._server.notify()

    def disconnect_slaves(self) -> None:
        """Disconnect all slaves and close the HA port, so that they follow the new master."""
        if (server := self._server) is not None:
            self._server = None
            self._letting_go = asyncio.create_task(server.stop(), name="disconnect slaves")

    def _await_slaves(self, acks: list[Ack], begin: int, log_end: int, now_ms: int) -> list[Ack]:
        return await_slaves(self.links, acks, begin=begin, log_end=log_end, now_ms=now_ms)

    def _may_connect(self, ip: str, local_ip: str) -> bool:
        key = "slaveAddresses"
        allowed = address_list(self._broker.config.slave_addresses, key=key)
        return is_loopback(ip) or ip == local_ip or allowed.matches(ip)

    def _follow(self) -> None:
        broker, config = self._broker, self._broker.config
        self.receiver = Receiver(
            broker.store,
            config=config,
            clock=broker.clock,
            compare=self._compare,
            written=self._written,
        )
        self.receiver.start()
        if config.ha_master_address:
            self.receiver.set_master(config.ha_master_address)

    async def stop_following(self) -> None:
        """Receive no more from the master, and cut the log after its last whole record."""
        if self.receiver is not None:
            await self.receiver.stop()
            self._broker.store.raw.cut()

    async def stop(self) -> None:
        """Let messages wait for slaves until their timeout, then close all connections."""
        if self._server is not None:
            await self._server.drain()
            await self._server.stop()
        if self._letting_go is not None:
            await self._letting_go
        if self._fast is not None:
            await self._fast.stop()

    # Following a master.

    def set_master_addresses(self, master_addr: str | None, ha_addr: str | None) -> None:
        """Use the addresses of the master that a name server returned."""
        if self.receiver is None or not self._broker.config.is_slave:
            return
        if master_addr and (self.master is None or self.master.address != master_addr):
            self.master = MasterCalls(self._client, master_addr, sign=self.trust.sign)
            self.sync.follow_another()
        if ha_addr and not self._broker.config.ha_master_address:
            self.receiver.set_master(ha_addr)

    def _written(self) -> None:
        self.sync.settle(self._broker.store.flushed_offset)
        self._broker.puller.answer_woken(self._broker.clock.now_ms())

    async def _compare(self) -> None:
        """Compare epochs and logs with the master before anything is received.

        Raises:
            Diverged: the master has another log.
            OSError: the master does not answer, or it was replaced.
        """
        self._broker.store.raw.cut()
        if self.master is None:
            if not self._broker.config.ha_master_address:
                raise OSError("no name server has named the main port of the master")
            LOG.warning("cannot compare logs and epochs without a name server")
            return
        # This challenge comes first: the requests that follow are signed for a proved master only.
        peer = await self.fence.ask(self.master.address)
        if peer is not None and self.trust.has_accounts and not peer.is_trusted:
            hint = "ignoring its epoch and signing nothing for it; if it is the master, "
            hint += "name it in brokerAddresses"
            LOG.warning("master %s has no account of this slave: %s", peer.address, hint)
            peer = None
        master_range = await self.master.log_range()
        if peer is not None:
            await self._compare_epochs(peer)
        self.sync.master_end = master_range.log_end
        self.sync.answered_end = master_range.answered_end
        await self._compare_logs(self.master, master_range)
        if peer is not None:
            self.fence.follow(peer.epoch, peer.role)
        # Copy the tables now: this slave may be promoted before the first round is due.
        await self._copy_tables(self.master)

    async def _compare_epochs(self, master: Peer) -> None:
        """Refuse to follow a master with a lower epoch than this slave's, and let it know.

        Raises:
            OSError: the master was replaced, or it accepts no messages itself.
        """
        own = self.fence.file.epoch
        self.fence.hear(master.epoch, f"master {master.address}")
        if master.epoch < own:
            try:
                await tell_epoch(master.ha_address, own)
            except BadCall as error:
                raise OSError(f"master {master.address}: {error}") from error
            raise OSError(
                f"master {master.address} has epoch {master.epoch}, lower than {own} of this "
                "slave's log: another master was promoted, and this slave has told it so"
            )
        if master.problem:
            raise OSError(f"master {master.address} accepts no messages: it is {master.problem}")

    async def _compare_logs(self, master: MasterCalls, master_range: MasterRange) -> None:
        """Compare this log with the master's; raises the same errors as ``_compare``."""
        store = self._broker.store
        if store.raw.is_empty:
            # An empty log gets the master's last file first, unless slaveStartsAt wants all.
            wants_all = self._broker.config.slave_starts_at is SlaveStart.FIRST_FILE
            if wants_all and master_range.log_end:
                self._begin_at(master_range.log_min)
            return
        try:
            await compare(
                store.raw,
                log_min=store.min_log_offset,
                master_min=master_range.log_min,
                record_at=master.record_at,
            )
        except LogsDiverged as diverged:
            file = self._file = self._file.replace(
                parts_at=diverged.log_offset,
                demoted=self._file.demoted,
                cut_tail=self._file.cut_tail,
            )
            if file.cut_tail and self._restart is not None:
                LOG.warning("%s; restarting to copy them out and cut them", diverged)
                self._restart()
            raise Diverged(
                f"{diverged}; look at both with `mqadmin store diff`, then let `mqadmin broker "
                "demote --cut-tail` copy them out and cut them, or promote this one"
            ) from diverged
        if self._file.parts_at is not None or self._file.cut_tail:
            self._file = self._file.replace(demoted=self._file.demoted)

    def _begin_at(self, log_offset: int) -> None:
        """Start this empty log at the first log offset of the master's."""
        if log_offset:
            self._broker.store.raw.start_at(log_offset)
            return
        # A report of 0 would ask for the last file. So write the first byte, which is known: it
        # is the high byte of the first record's size, and no record is as large as 16 MiB.
        self._broker.store.raw.append(b"\0")
        self._broker.store.write(self._broker.clock.now_ms())

    def _topic_remade(self, topic: str, log_offset: int) -> None:
        """Drop the queues of a topic that the master deleted and created again."""
        LOG.info("topic %s starts over at log offset %d, as on the master", topic, log_offset)
        self._broker.store.dispatch_copied(self._broker.clock.now_ms())
        delete_queues(self._broker, topic, log_end=log_offset)

    def expire(self, now_ms: int) -> None:
        """Answer the messages that have waited for a slave for too long."""
        self.links.expire(now_ms)

    def schedule(self, services: Services) -> None:
        """Register the periodic tasks."""
        services.every(SYNC_MS, self.round, name="tables of the master", first_ms=SYNC_FIRST_MS)
        services.every(EXPIRE_MS, self.expire, name="slaves waited for")
        period_ms = self._broker.config.register_name_server_period_ms
        services.every(period_ms, self.fence.round, name="epochs of other brokers")

    async def round(self, now_ms: int) -> None:
        """Copy the tables of the master; call it periodically.

        A slave whose log may differ from its master's keeps its own tables, because adopting others
        would remove the queues of topics that only this log has.
        """
        receiver = self.receiver
        if receiver is not None and receiver.state is SlaveState.RECEIVING and self.master:
            await self._copy_tables(self.master)

    async def _copy_tables(self, master: MasterCalls) -> None:
        try:
            tables = await master.tables()
        except (OSError, StoreError) as error:
            LOG.info("could not copy the tables of the master: %s", error)
            return
        if why := tables.progress.refusal(self.fence.followed_epoch):
            LOG.info("did not copy the tables of master %s: %s", master.address, why)
            return
        if not self._broker.config.is_slave or master is not self.master:
            # It was promoted, or follows another one, since the master was asked.
            return
        for topic in self.sync.adopt(tables):
            if not self._broker.topics.is_system(topic):
                delete_queues(self._broker, topic, log_end=self._broker.store.written_offset)
        self.sync.settle(self._broker.store.flushed_offset)

    # Becoming a master.

    def pull_refusal(self) -> str:
        """Return why this slave serves no pulls; empty when it serves them."""
        receiver = self.receiver
        # This stays set while the logs are compared again, until they are found to be the same.
        if receiver is None or not receiver.divergence:
            return ""
        return f"the log of this slave differs from its master's: {receiver.divergence}"

    def staleness(self) -> str:
        """Return why this slave must not be promoted without --force; empty when it may be."""
        receiver, end = self.receiver, self._broker.store.raw.whole_offset
        if receiver is None:
            return ""
        if receiver.state is SlaveState.RECEIVING:
            return "its master is alive, so there would be two masters; stop that one first"
        if receiver.divergence:
            return receiver.divergence
        if self.sync.answered_end < 0:
            return "it has not heard from a master since it started, so what it lacks is unknown"
        if end < self.sync.answered_end:
            return f"it lacks {self.sync.answered_end - end} bytes of its master's log"
        return ""

    def _heard(self) -> str:
        """Return when this slave last heard of its master, as a text for people."""
        if self.receiver is None or not self.receiver.heard_ms:
            return "its master has not been heard since the start"
        elapsed_ms = self._broker.clock.now_ms() - self.receiver.heard_ms
        return f"its master was last heard {max(0, elapsed_ms) // 1000} s ago"

    def _role_after(self, role: BrokerRole | None) -> BrokerRole:
        """Return the role of a promoted slave: ``role``, or if that is None its master's role.

        Raises:
            RequestRefused: the master's role is not known, or ``role`` is SLAVE.
        """
        master_role = BrokerRole.__members__.get(self.fence.file.master_role)
        if role is BrokerRole.SLAVE or (role is None and master_role is None):
            text = "this slave does not know its master's role"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"not promoted: {text}; pass --role")
        return role or master_role or BrokerRole.ASYNC_MASTER

    async def promote(self, role: BrokerRole | None, *, force: bool) -> str:
        """Become the master, and return what was done as a text for people.

        Args:
            role: the new role; None for the role that its master had.
            force: promote it even if ``staleness`` returns a reason.

        Raises:
            RequestRefused: this broker leads already, it is stale and ``force`` is False, or the
                role is not known.
            OSError: a port cannot be opened, or a file cannot be written.
        """
        config, store = self._broker.config, self._broker.store
        if not config.is_slave:
            return await self._lead_again(role, force=force)
        stale = self.staleness()
        if stale and not force:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"not promoted: {stale}")
        role = self._role_after(role)
        although = f", although {stale}" if stale else ""
        LOG.warning("promotion to %s at %d%s", role.name, store.raw.whole_offset, although)
        heard = self._heard()
        # Save the epoch first: without it this master could not fence the old one.
        former = self.master.address if self.master is not None else ""
        now_ms = self._broker.clock.now_ms()
        self.fence.save_promotion(now_ms, role=role.name, former_master=former)
        await self.stop_following()
        self.receiver = None
        config.broker_role, config.broker_id = role, 0
        await self._lead()
        self._file = self._file.replace(promoted=role)
        self.fence.lead()
        self._broker.delay.look_again()
        self._broker.pops.revive.look_again()
        make_lost_topics(self._broker.context, now_ms=self._broker.clock.now_ms())
        self._broker.complete_last_commit(now_ms=self._broker.clock.now_ms())
        self._broker.apply_settings(now_ms=self._broker.clock.now_ms())
        await self._tell_name_servers()
        text = (
            f"is {role.name} now, with epoch {self.fence.file.epoch}, from log offset "
            f"{store.written_offset} on; {heard}"
        )
        LOG.warning("this broker %s", text)
        return f"{text}; set brokerRole={role.name} and brokerId=0 in its configuration file"

    async def _tell_name_servers(self) -> None:
        """Return when every name server knows the new epoch, or its timeout is over.

        An administrator may stop this broker as soon as the promotion is answered, and the old
        master must hear of the promotion even then.
        """
        registered = asyncio.Event()
        self._broker.topics.touch(self._broker.clock.now_ms())
        self._broker.when_registered(registered.set)
        await registered.wait()

    async def _lead_again(self, role: BrokerRole | None, *, force: bool) -> str:
        """Let a fenced master accept messages again, with a higher epoch than any it heard of.

        Raises:
            RequestRefused: this broker is not fenced, or ``force`` is False.
            OSError: the HA port cannot be opened, or a file cannot be written.
        """
        config = self._broker.config
        if not self.fence.is_fenced or role not in (None, config.broker_role):
            raise RequestRefused(
                ResponseCode.SYSTEM_ERROR, f"this broker is {config.broker_role.name}"
            )
        if not force:
            text = f"not promoted: {self._broker.sender.refusal}; --force fences that master"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)
        if self._letting_go is not None:
            await self._letting_go
        now_ms = self._broker.clock.now_ms()
        self.fence.save_promotion(now_ms, role=config.broker_role.name, former_master="")
        await self._serve_slaves()
        self.fence.lead()
        await self._tell_name_servers()
        text = f"is {config.broker_role.name} again, with epoch {self.fence.file.epoch}"
        LOG.warning("this broker %s", text)
        return text

    def demote(self, broker_id: int, *, cut_tail: bool, force: bool) -> str:
        """Note a demotion and restart as a slave; return what was done as a text for people.

        Args:
            broker_id: the new broker id; ignored if this broker is a slave already.
            cut_tail: copy out, then cut, the bytes that the new master's log does not have.
            force: demote a master even if it is not fenced.

        Raises:
            RequestRefused: this master is not fenced and ``force`` is False, or this is a slave
                whose log is not known to diverge from its master's.
            OSError: the order could not be written.
        """
        config, file = self._broker.config, self._file
        if config.is_slave:
            if not cut_tail or file.parts_at is None:
                text = "this broker is a slave, and its log has not been found to diverge from its"
                raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"{text} master's")
            broker_id = config.broker_id
        elif not self.fence.is_fenced and not force:
            text = "this broker is a master and has not heard of a promotion; promote a slave first"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"not demoted: {text}")
        if not config.is_slave:
            # A later promotion of this broker gives it its present role again.
            self.fence.follow(self.fence.file.epoch, config.broker_role.name)
        self._file = file.replace(parts_at=file.parts_at, demoted=broker_id, cut_tail=cut_tail)
        text = f"was demoted to slave {broker_id}" + "; the restart cuts its tail" * cut_tail
        LOG.warning("this broker %s", text)
        if self._restart is None:
            return f"{text}; restart it"
        self._restart()
        return f"{text} and restarts now; set brokerRole=SLAVE and brokerId={broker_id} in its file"

    @property
    def is_unregistered(self) -> bool:
        """Return whether name servers must not list this broker now."""
        return self.fence.is_fenced

    def tell_epoch(self, question: GetEpoch) -> GetEpochResponse:
        """Return epoch and role, with a proof for the challenge of a question."""
        return self.fence.tell_epoch(question)

    def numbers(self) -> dict[str, str]:
        """Return the entries of the runtime information that are about replication."""
        config, store = self._broker.config, self._broker.store
        entries = {"haRole": config.broker_role.name, **self.fence.numbers()}
        entries["haConnectedSlaves"] = str(len(self.links.links))
        if not config.is_slave:
            entries["haAnsweredOffset"] = str(self.links.answered_offset(store.written_offset))
        for number, link in enumerate(self.links.links):
            entries[f"haSlave_{number}"] = (
                f"{link.address},{link.sent_offset},{link.acked_offset},"
                f"{store.written_offset - link.acked_offset},{link.heard_ms}"
            )
        if self.receiver is not None:
            receiver = self.receiver
            entries |= {
                "haState": receiver.reported_state.name,
                "haMaster": receiver.master,
                "haMasterEnd": str(self.sync.master_end),
                "haFlushedOffset": str(store.flushed_offset),
                "haHeardTimestamp": str(receiver.heard_ms),
                "haDivergence": receiver.divergence,
                "haProblem": receiver.problem,
            }
        return entries
