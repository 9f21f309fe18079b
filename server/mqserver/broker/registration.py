"""Register this broker and its topics with the name servers.

    at start, 10 s later, every 30 s:
        REGISTER_BROKER (103) with all topics -> every name server at the same time
    when topics changed and topics.json has that:
        QUERY_DATA_VERSION (322): does it have what was registered last?
          yes -> REGISTER_BROKER with the topics that changed since
          no  -> REGISTER_BROKER with all topics
    first answer: the ordered topics -> topic table
    at stop: UNREGISTER_BROKER (104)

A fenced master does not register any more, and unregisters from the name servers that still have
it as the master.

Rule: changes during a registration are sent with the next one, which follows at once. A name
server that does not answer is tried again in the next round; this is logged only when it begins and
when it ends.

The real broker sends the changed topic alone after UPDATE_AND_CREATE_TOPIC, and all topics when a
send creates one. It does not ask before: a name server that was started again meanwhile then takes
the one topic for all of this data version, and has no routes of the others until the next change.

Source: broker/BrokerController.java#registerBrokerAll, #registerIncrementBrokerData,
broker/out/BrokerOuterAPI.java.
"""

import asyncio
import dataclasses
import logging
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from mqserver.broker.clients.filter_servers import FilterServers
from mqserver.broker.config import BrokerConfig
from mqserver.broker.topics import Topics, topic_config
from mqserver.runtime.clock import Clock
from mqserver.runtime.periodic import Services
from remoting.aio.client import RemotingClient
from remoting.bodies import (
    ClusterInfo,
    KVTable,
    RegisterBrokerBody,
    TopicConfigSerializeWrapper,
    encode_value,
)
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.errors import RemotingError
from remoting.headers import (
    HaEpoch,
    QueryDataVersion,
    QueryDataVersionResponse,
    RegisterBroker,
    RegisterBrokerResponse,
    UnRegisterBroker,
)
from storefmt.config.tables import TopicTable
from storefmt.formats.message import CRC_MASK
from storefmt.names import PERM_READ_WRITE

LOG = logging.getLogger(__name__)

REGISTER_FIRST_MS: Final = 10_000
UNREGISTER_TIMEOUT_S: Final = 3.0
CLUSTER_INFO_TIMEOUT_S: Final = 3.0

OnMaster = Callable[[str | None, str | None], None]
"""Called with the master's addresses, for clients and for slaves; None if not known."""
Registered = Callable[[], None]
"""Called when every name server has answered or its timeout is over."""


class _RegisteredState(NamedTuple):
    """What is registered of this broker with a name server."""

    table: TopicTable
    broker_id: int
    """Name servers take topics only from a master."""
    permission: int
    renewal_count: int
    """``Topics.renewal_count``: a name server may have other permissions (wiped ones) since."""
    filter_servers: list[str]

    def is_base_of(self, later: "_RegisteredState") -> bool:
        """Return whether it is enough to register the topics that changed since then."""
        return (self.broker_id, self.permission, self.renewal_count) == (
            later.broker_id,
            later.permission,
            later.renewal_count,
        )


class Registration:
    """Keeps one broker registered.

    Args:
        config: the settings.
        topics: the topics to register; the ordered ones are marked there.
        filter_servers: the filter servers to register.
        client: connections to the name servers.
        clock: gives the time of changes.
        on_master: called with the master's addresses after every answer to a slave.
        epoch: returns the epoch to send, with its proof; 0 to send none, as Java.
        on_epoch: called with the epoch in an answer, and the name server that sent it.
        is_fenced: returns whether another master was promoted in place of this one, or in a group
            with a controller whether this broker has no role yet.
        state_version: returns the epoch of the master in such a group; 0 for none.
    """

    def __init__(
        self,
        config: BrokerConfig,
        topics: Topics,
        *,
        filter_servers: FilterServers,
        client: RemotingClient,
        clock: Clock,
        on_master: OnMaster,
        epoch: Callable[[], HaEpoch],
        on_epoch: Callable[[HaEpoch, str], None],
        is_fenced: Callable[[], bool],
        state_version: Callable[[], int] = lambda: 0,
    ) -> None:
        self._config = config
        self._on_master = on_master
        self._epoch = epoch
        self._on_epoch = on_epoch
        self._is_fenced = is_fenced
        self._state_version = state_version
        self._leaving: asyncio.Task[None] | None = None
        self._topics = topics
        self._filter_servers = filter_servers
        self._client = client
        self._clock = clock
        # Its own: the default executor serves whoever asks, and a registration must not wait.
        self._encoder = ThreadPoolExecutor(max_workers=1, thread_name_prefix="registration")
        self._silent: set[str] = set()
        self._registered: dict[str, _RegisteredState] = {}
        """By name server: the state of the last registration that it answered."""
        self._is_everything_due = False
        self._task: asyncio.Task[None] | None = None
        self._due = False
        self._waiting: list[Registered] = []
        self._stopped = False

    def register_soon(self, registered: Registered | None = None) -> None:
        """Register the present state soon; ``registered`` is called when that is done."""
        if registered is not None:
            self._waiting.append(registered)
        self._due = True
        if self._stopped or self._is_fenced():
            self._release(self._take_waiting())
        elif self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run(), name="registration")

    def schedule(self, services: Services) -> None:
        """Register every ``registerNameServerPeriod``."""
        config = self._config
        services.every(
            lambda: config.register_name_server_period_ms,
            self.round,
            name="registration",
            first_ms=REGISTER_FIRST_MS,
        )

    async def round(self, now_ms: int) -> None:
        """Register if needed."""
        if not self._is_fenced() and (self._config.force_register or await self._is_needed()):
            self._is_everything_due = True
            self.register_soon()
        if self._task is not None:
            await asyncio.shield(self._task)

    def leave(self) -> None:
        """Unregister a fenced master from the name servers that still have it as the master."""
        self._leaving = asyncio.get_running_loop().create_task(self._leave(), name="leaving")

    async def stop(self) -> None:
        """Unregister from every name server."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._release(self._take_waiting())
        if self._leaving is not None:
            await self._leaving
        self._encoder.shutdown(wait=False, cancel_futures=True)
        if not self._is_fenced():
            await self._unregister(self._config.namesrv_addrs)

    async def _leave(self) -> None:
        if self._task is not None:
            await asyncio.wait([self._task])
        config = self._config
        addresses = config.namesrv_addrs
        infos = await asyncio.gather(*(cluster_info(self._client, at) for at in addresses))
        named = []
        for at, info in zip(addresses, infos, strict=True):
            data = None if info is None else info.broker_addr_table.get(config.broker_name)
            # A Java name server removes whichever broker has the id, even the new master.
            if data is not None and data.broker_addrs.get(config.broker_id) == config.broker_addr:
                named.append(at)
        await self._unregister(named)

    async def _unregister(self, namesrvs: list[str]) -> None:
        config = self._config
        header = UnRegisterBroker(
            broker_name=config.broker_name,
            broker_addr=config.broker_addr,
            cluster_name=config.broker_cluster_name,
            broker_id=config.broker_id,
        )
        code = RequestCode.UNREGISTER_BROKER
        await asyncio.gather(
            *(
                self._ask(namesrv, Command.request(code, header), timeout_s=UNREGISTER_TIMEOUT_S)
                for namesrv in namesrvs
            )
        )

    async def _run(self) -> None:
        while self._due and not self._is_fenced():
            self._due = False
            # Changes in the same pass of the loop share one registration.
            await asyncio.sleep(0)
            waiting = self._take_waiting()
            try:
                await self._register()
            except Exception:
                LOG.exception("registration; the next one comes with the next round or change")
            finally:
                self._release(waiting)

    def _take_waiting(self) -> list[Registered]:
        waiting, self._waiting = self._waiting, []
        return waiting

    @staticmethod
    def _release(waiting: list[Registered]) -> None:
        for registered in waiting:
            registered()

    async def _register(self) -> None:
        config = self._config
        if not config.namesrv_addrs:
            # Nobody would need the snapshot of all topics.
            return
        if self._is_everything_due:
            self._is_everything_due = False
            self._registered.clear()
        answers = await self._register_at_all(self._present())
        answered = next((answer for answer in answers if answer is not None), None)
        if config.is_slave:
            # A slave copies the ordered topics with the other topics of the master.
            for answer in answers:
                if answer is not None:
                    header = answer.header(RegisterBrokerResponse)
                    self._on_master(header.master_addr, header.ha_server_addr)
        elif answered is not None and answered.body:
            ordered = KVTable.decode(answered.body).table
            self._topics.set_ordered(ordered, now_ms=self._clock.now_ms())

    def _present(self) -> _RegisteredState:
        config, filter_servers = self._config, self._filter_servers.addresses()
        table = self._topics.table()
        if state_version := self._state_version():
            version = table.data_version
            extra = {**version.extra, "stateVersion": state_version}
            version = dataclasses.replace(version, extra=extra)
            table = dataclasses.replace(table, data_version=version)
        return _RegisteredState(
            table,
            config.broker_id,
            config.broker_permission,
            self._topics.renewal_count,
            filter_servers,
        )

    async def _register_at_all(self, present: _RegisteredState) -> list[Command | None]:
        """Tell each name server what it does not know; return their answers, None for a failure."""
        loop = asyncio.get_running_loop()
        everything: asyncio.Future[bytes] | None = None

        async def at(address: str) -> Command | None:
            nonlocal everything
            registered = self._registered.pop(address, None)
            # Use a thread, because encoding very many topics takes long.
            if (
                registered is not None
                and registered.is_base_of(present)
                and await self._has(address, registered)
            ):
                body = await loop.run_in_executor(self._encoder, self._body, present, registered)
            else:
                everything = everything or loop.run_in_executor(self._encoder, self._body, present)
                body = await everything
            answer = await self._ask(address, self._request(body))
            if answer is not None:
                self._registered[address] = present
            return answer

        return list(await asyncio.gather(*map(at, self._config.namesrv_addrs)))

    def _request(self, body: bytes) -> Command:
        config = self._config
        header = RegisterBroker(
            broker_name=config.broker_name,
            broker_addr=config.broker_addr,
            cluster_name=config.broker_cluster_name,
            ha_server_addr=config.ha_server_addr,
            broker_id=config.broker_id,
            compressed=config.compressed_register,
            body_crc32=zlib.crc32(body) & CRC_MASK,
        )
        return self._telling_epoch(Command.request(RequestCode.REGISTER_BROKER, header, body=body))

    def _telling_epoch(self, command: Command) -> Command:
        """Add the epoch of this broker to a request, if there was a promotion."""
        epoch = self._epoch()
        if epoch.ha_epoch:
            command.ext |= epoch.to_ext()
        return command

    def _body(self, present: _RegisteredState, known: _RegisteredState | None = None) -> bytes:
        """Return the text of all topics, or of those that changed since the state ``known``."""
        topics = present.table.topics
        if known is not None:
            topics = present.table.changed_since(known.table)
        if present.permission & PERM_READ_WRITE != PERM_READ_WRITE:
            # A broker that may not be read or written registers its permission for each topic.
            topics = {
                name: dataclasses.replace(
                    topic_config(name, queue_count=0, perm=present.permission),
                    read_queue_nums=topic.read_queue_nums,
                    write_queue_nums=topic.write_queue_nums,
                )
                for name, topic in topics.items()
            }
        body = RegisterBrokerBody(
            topic_config_serialize_wrapper=TopicConfigSerializeWrapper(
                topic_config_table=topics, data_version=present.table.data_version
            ),
            filter_server_list=present.filter_servers,
        )
        return body.encode_compressed() if self._config.compressed_register else body.encode()

    async def _is_needed(self) -> bool:
        """Ask whether a name server has another data version of the topics."""
        present = self._present()
        addresses = self._config.namesrv_addrs
        return not all(
            await asyncio.gather(*(self._has(address, present) for address in addresses))
        )

    async def _has(self, address: str, known: _RegisteredState) -> bool:
        """Ask whether a name server has the data version of a state."""
        config = self._config
        header = QueryDataVersion(
            broker_name=config.broker_name,
            broker_addr=config.broker_addr,
            cluster_name=config.broker_cluster_name,
            broker_id=config.broker_id,
        )
        version = encode_value(known.table.data_version)
        command = Command.request(RequestCode.QUERY_DATA_VERSION, header, body=version)
        answer = await self._ask(address, command)
        return answer is not None and not answer.header(QueryDataVersionResponse).changed

    async def _ask(
        self, address: str, command: Command, *, timeout_s: float | None = None
    ) -> Command | None:
        """Return the answer of a name server, or None if it failed."""
        if timeout_s is None:
            timeout_s = self._config.register_broker_timeout_ms / 1000
        try:
            answer = await self._client.invoke(address, command, timeout_s=timeout_s)
            epoch = answer.header(HaEpoch)
        except RemotingError as error:
            self._note(address, str(error))
            return None
        self._on_epoch(epoch, f"name server {address}")
        if self._is_fenced():
            return None
        if answer.code != ResponseCode.SUCCESS:
            self._note(address, f"code {answer.code}: {answer.remark}")
            return None
        self._note(address, None)
        return answer

    def _note(self, address: str, problem: str | None) -> None:
        if problem is None:
            if address in self._silent:
                LOG.info("name server %s answers again", address)
            self._silent.discard(address)
        elif address not in self._silent:
            self._silent.add(address)
            LOG.warning("name server %s: %s; it is tried again every round", address, problem)


async def cluster_info(client: RemotingClient, namesrv: str) -> ClusterInfo | None:
    """Return the brokers that a name server knows, or None if it does not answer."""
    command = Command.request(RequestCode.GET_BROKER_CLUSTER_INFO)
    try:
        answer = await client.invoke(namesrv, command, timeout_s=CLUSTER_INFO_TIMEOUT_S)
        return ClusterInfo.decode(answer.body) if answer.body else None
    except RemotingError as error:
        LOG.debug("name server %s does not tell its brokers: %s", namesrv, error)
        return None
