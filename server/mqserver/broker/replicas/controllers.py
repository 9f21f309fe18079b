"""Requests of a broker to its controllers.

    questions   1012 1013 1003 1002 1004 1001   to the leading controller, which 1005 names
    heartbeats  904                             to every controller, one-way

Rule: a question is answered, or not; whoever asks decides what follows. When the leader does not
answer, or says that it leads no more, all controllers are asked who does, and the first that names
another one is believed. Only the addresses in ``controllerAddr`` are asked that.

Source: broker/out/BrokerOuterAPI.java, broker/controller/ReplicasManager.java (5.4.0).
"""

import asyncio
import logging
from functools import partial
from typing import Final

from mqserver.broker.config import BrokerConfig
from mqserver.broker.replicas.in_sync_set import Committed
from mqserver.broker.replicas.role_actions import (
    AlterSet,
    Answer,
    ApplyId,
    AskMaster,
    AskNextId,
    Beat,
    Elect,
    MasterView,
    Question,
    Register,
)
from mqserver.runtime.clock import Clock
from remoting.aio.client import RemotingClient
from remoting.bodies.controller import ElectMasterResponseBody, SyncStateSet
from remoting.codes import LaterCode, LaterResponseCode, ResponseCode
from remoting.command import Command
from remoting.errors import BadBody, RemotingError
from remoting.headers.controller import (
    AlterSyncStateSet,
    AlterSyncStateSetResponse,
    ApplyBrokerId,
    BrokerHeartbeat,
    ElectMaster,
    ElectMasterResponse,
    GetMetaDataResponse,
    GetNextBrokerId,
    GetNextBrokerIdResponse,
    GetReplicaInfo,
    GetReplicaInfoResponse,
    RegisterBrokerToController,
    RegisterBrokerToControllerResponse,
)

LOG = logging.getLogger(__name__)

ASK_S: Final = 1.0
ELECT_S: Final = 5.0
"""The first election waits for further brokers."""
BEAT_RETRY_MS: Final = 100


class Controllers:
    """The controllers of one broker.

    Args:
        client: the connections; their end tells a controller that this process has ended.
        config: names and addresses of this broker, and those of its controllers.
        clock: its wall time stands in requests; its steady time limits the tries of a heartbeat.
    """

    def __init__(self, client: RemotingClient, config: BrokerConfig, clock: Clock) -> None:
        self.leader = ""
        """``host:port`` of the leading controller; empty while it is not known."""
        self._client = client
        self._config = config
        self._clock = clock
        self._is_silent = False
        self._beats: dict[str, asyncio.Task[None]] = {}

    async def ask(self, question: Question) -> Answer | None:
        """Return the answer of the leading controller, or None if none answers as the leader."""
        if not self.leader:
            await self._find_leader()
        answer = await self._ask(question) if self.leader else None
        if answer is None or answer.code == LaterResponseCode.CONTROLLER_NOT_LEADER:
            await self._find_leader(former=self.leader)
            answer = None
        if (answer is None) != self._is_silent:
            self._is_silent = answer is None
            LOG.log(
                logging.WARNING if answer is None else logging.INFO,
                "no controller of %s answers; asked again" if answer is None else
                "a controller of %s answers again", self._config.controller_addr,
            )  # fmt: skip
        return answer

    async def _find_leader(self, former: str = "") -> None:
        """Ask all controllers who leads; one that names another than the former is believed."""
        self.leader = ""
        addresses = self._config.controller_addrs
        asks = [asyncio.ensure_future(self._leader_by(address)) for address in addresses]
        try:
            for answered in asyncio.as_completed(asks):
                leader = await answered
                if leader:
                    self.leader = leader
                    if leader != former:
                        return
        finally:
            for ask in asks:
                ask.cancel()

    async def _leader_by(self, address: str) -> str:
        command = Command.request(LaterCode.CONTROLLER_GET_METADATA_INFO)
        try:
            answer = await self._client.invoke(address, command, timeout_s=ASK_S)
            header = answer.header(GetMetaDataResponse)
        except RemotingError as error:
            LOG.debug("controller %s does not say who leads: %s", address, error)
            return ""
        return header.controller_leader_address or ""

    async def _ask(self, question: Question) -> Answer | None:
        timeout_s = ELECT_S if isinstance(question, Elect) else ASK_S
        command = self._command(question)
        try:
            answer = await self._client.invoke(self.leader, command, timeout_s=timeout_s)
            return _decode(question, answer)
        except (RemotingError, BadBody) as error:
            LOG.debug("controller %s, %s: %s", self.leader, type(question).__name__, error)
            return None

    def _command(self, question: Question) -> Command:
        config, now_ms = self._config, self._clock.now_ms()
        cluster, name = config.broker_cluster_name, config.broker_name
        match question:
            case AskNextId():
                return Command.request(
                    LaterCode.CONTROLLER_GET_NEXT_BROKER_ID,
                    GetNextBrokerId(cluster_name=cluster, broker_name=name),
                )
            case ApplyId(broker_id, check_code):
                return Command.request(
                    LaterCode.CONTROLLER_APPLY_BROKER_ID,
                    ApplyBrokerId(
                        cluster_name=cluster,
                        broker_name=name,
                        applied_broker_id=broker_id,
                        register_check_code=check_code,
                    ),
                )
            case Register(broker_id):
                return Command.request(
                    LaterCode.CONTROLLER_REGISTER_BROKER,
                    RegisterBrokerToController(
                        cluster_name=cluster,
                        broker_name=name,
                        broker_id=broker_id,
                        broker_address=config.broker_addr,
                        invoke_time=now_ms,
                    ),
                )
            case Elect(broker_id):
                return Command.request(
                    LaterCode.CONTROLLER_ELECT_MASTER,
                    ElectMaster(
                        cluster_name=cluster,
                        broker_name=name,
                        broker_id=broker_id,
                        designate_elect=False,
                        invoke_time=now_ms,
                    ),
                )
            case AskMaster():
                return Command.request(
                    LaterCode.CONTROLLER_GET_REPLICA_INFO, GetReplicaInfo(broker_name=name)
                )
            case AlterSet(broker_id, master_epoch, members, set_epoch):
                return Command.request(
                    LaterCode.CONTROLLER_ALTER_SYNC_STATE_SET,
                    AlterSyncStateSet(
                        broker_name=name,
                        master_broker_id=broker_id,
                        master_epoch=master_epoch,
                        invoke_time=now_ms,
                    ),
                    body=SyncStateSet(
                        sync_state_set=sorted(members), sync_state_set_epoch=set_epoch
                    ).encode(),
                )

    def beat(self, beat: Beat, *, epoch: int) -> None:
        """Send a heartbeat to every controller; one that does not take it misses it.

        Args:
            beat: what it says.
            epoch: the newest epoch of the log; -1 for none.
        """
        config = self._config
        header = BrokerHeartbeat(
            cluster_name=config.broker_cluster_name,
            broker_name=config.broker_name,
            broker_addr=config.broker_addr,
            broker_id=beat.broker_id,
            epoch=epoch,
            max_offset=beat.max_offset,
            confirm_offset=beat.confirm_offset,
            heartbeat_timeout_ms=config.controller_heartbeat_timeout_ms,
            election_priority=config.broker_election_priority,
        )
        for address in {*config.controller_addrs, self.leader} - {""}:
            if address in self._beats:
                # It does not even connect; another heartbeat would only wait behind this one.
                continue
            command = Command.request(LaterCode.BROKER_HEARTBEAT, header, oneway=True)
            task = asyncio.create_task(self._beat(address, command))
            self._beats[address] = task
            task.add_done_callback(partial(self._beaten, address))

    def _beaten(self, address: str, task: asyncio.Task[None]) -> None:
        self._beats.pop(address, None)

    async def _beat(self, address: str, command: Command) -> None:
        """Send a heartbeat; try again until shortly before the next one is due.

        A controller that starts again elects when it has heard the in-sync set, and should not have
        to wait for the next heartbeat.
        """
        interval_ms = self._config.broker_heartbeat_interval_ms
        last_ms = self._clock.steady_ms() + interval_ms - 2 * BEAT_RETRY_MS
        while True:
            try:
                await self._client.invoke_oneway(address, command)
            except RemotingError as error:
                LOG.debug("no heartbeat to controller %s: %s", address, error)
            else:
                return
            if self._clock.steady_ms() > last_ms:
                return
            await asyncio.sleep(BEAT_RETRY_MS / 1_000)

    async def stop(self) -> None:
        """Give up the heartbeats that are under way."""
        tasks = list(self._beats.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _decode(question: Question, answer: Command) -> Answer:
    """Return what an answer says.

    Raises:
        RemotingError: it has a field or a body that cannot be read.
    """
    code, remark = answer.code, answer.remark or ""
    view, next_id = MasterView(), None
    match question:
        case AskNextId() if code == ResponseCode.SUCCESS:
            next_id = answer.header(GetNextBrokerIdResponse).next_broker_id
        case Register() if code == ResponseCode.SUCCESS:
            header = answer.header(RegisterBrokerToControllerResponse)
            view = _master_view(header, _committed(answer.body))
        case AskMaster() if code == ResponseCode.SUCCESS:
            view = _master_view(answer.header(GetReplicaInfoResponse), _committed(answer.body))
        case Elect():
            view = _elected(answer)
        case AlterSet() if code == ResponseCode.SUCCESS:
            set_epoch = answer.header(AlterSyncStateSetResponse).new_sync_state_set_epoch
            committed = _committed(answer.body) or Committed(question.members, set_epoch)
            view = MasterView(committed=committed)
    return Answer(code, remark, view, next_id)


def _committed(body: bytes) -> Committed | None:
    if not body:
        return None
    in_sync = SyncStateSet.decode(body)
    return Committed(frozenset(in_sync.sync_state_set), in_sync.sync_state_set_epoch)


def _elected(answer: Command) -> MasterView:
    if answer.code not in (
        ResponseCode.SUCCESS,
        LaterResponseCode.CONTROLLER_MASTER_STILL_EXIST,
    ):
        return MasterView()
    header = answer.header(ElectMasterResponse)
    committed = None
    if answer.body and header.sync_state_set_epoch is not None:
        members = ElectMasterResponseBody.decode(answer.body).sync_state_set
        committed = Committed(frozenset(members), header.sync_state_set_epoch)
    return _master_view(header, committed)


def _master_view(
    header: RegisterBrokerToControllerResponse | GetReplicaInfoResponse | ElectMasterResponse,
    committed: Committed | None,
) -> MasterView:
    return MasterView(
        header.master_broker_id, header.master_address, header.master_epoch, committed
    )
