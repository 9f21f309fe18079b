"""Copy the tables of the master to a slave: topics, groups, consumer offsets, delay offsets.

    every 10 s   GET_ALL_TOPIC_CONFIG, GET_ALL_SUBSCRIPTIONGROUP_CONFIG   adopted at once
                 GET_ALL_CONSUMER_OFFSET, GET_ALL_DELAY_OFFSET            adopted when this log
                 GET_BROKER_RUNTIME_INFO: the end of the master's log       has reached that end

Rule: a slave has the topics, groups and request modes of its master, whatever it had before; no
time and no counter decides. It creates none itself (``Topics``, ``Groups``), so there is nothing of
its own to keep. ``MasterProgress.refusal`` says from whom nothing is adopted.

Offsets are different, because clients commit to a slave while the master is away: a lower offset
of the master replaces the one here only if it went down since the last report (a reset). If an
offset were ahead of this log, messages would be lost when this slave is promoted, so offsets wait
for the log. The timer and open pops need no copy: a promoted slave builds both from its log.

Source: broker/slave/SlaveSynchronize.java (which adopts every answer, and signs no request).
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar

from mqserver.broker.acl.first_users import inner_keys
from mqserver.broker.clients.consumer_offsets import NO_OFFSET, Offsets, Place
from mqserver.broker.clients.subscription_groups import Groups
from mqserver.broker.config import BrokerConfig
from mqserver.broker.delay.schedule import DelayService
from mqserver.broker.topics import Topics
from remoting.aio.client import RemotingClient
from remoting.bodies import (
    DelayOffsetSerializeWrapper,
    KVTable,
    MessageRequestModeSerializeWrapper,
    SubscriptionGroupWrapper,
    TopicConfigSerializeWrapper,
)
from remoting.codes import LaterCode, RequestCode, ResponseCode
from remoting.command import Command
from remoting.errors import BadBody, RemotingError
from remoting.header import Header
from remoting.headers import GetAllConsumerOffset, ViewMessage
from remoting.toolskeys import TOOLS_FILE, tools_keys
from storefmt.config.tables import (
    ConsumerOffsets,
    DelayOffsets,
    GroupTable,
    TopicTable,
)
from storefmt.errors import ConfigDamaged

LOG = logging.getLogger(__name__)
_T = TypeVar("_T")

TIMEOUT_S: Final = 5.0
ACL_REFUSAL: Final = "AclException"
ACL_HINT: Final = (
    f"this slave needs the keys of an admin in <rocketmqHome>/{TOOLS_FILE}, or its address "
    "on the master's globalWhiteRemoteAddresses; it signs requests to masters in "
    "brokerAddresses, and to those of ours that have the same account"
)
USER_HINT: Final = (
    "this slave needs innerClientAuthenticationCredentials of a Super user of the master; it signs "
    "requests to masters in brokerAddresses, and to those of ours that have the same user"
)

LEVEL_KEY: Final = "scheduleMessageOffset_"
"""Prefix of the key of a delay level in the runtime information; the value is
``delay offset,max offset``, in entries of the level's queue."""
ANSWERED_KEY: Final = "haAnsweredOffset"
"""Key of the log offset up to which the master has answered; only our broker has it."""
EPOCH_KEY: Final = "haEpoch"
PROBLEM_KEY: Final = "haFence"
DELIVERED_KEY: Final = "haDeliveredLogOffset"
"""Key of a log offset: the delay offsets include the deliveries that lie before it."""


def own_keys(config: BrokerConfig) -> tuple[str, str] | None:
    """Return access key and secret key with which a broker signs its requests, None without.

    They are those of innerClientAuthenticationCredentials, else those in ``conf/tools.yml``.

    Raises:
        ConfigDamaged: the setting cannot be read.
        OSError: the file exists and cannot be read.
    """
    inner, home = inner_keys(config.inner_client_authentication_credentials), config.rocketmq_home
    if inner is not None:
        return inner
    path = None if home is None else home / TOOLS_FILE
    if path is None or not path.is_file():
        return None
    access_key, secret_key = tools_keys(path.read_text(encoding="utf-8"))
    return (access_key, secret_key) if access_key and secret_key else None


class MasterRange(NamedTuple):
    """Where the log of the master begins and ends, as log offsets.

    ``answered_end`` is where the messages begin that still wait for a slave and so were not
    acknowledged to their producers; ``log_end`` if there are none, or the master is Java's.
    ``numbers`` is the whole runtime information of the master.
    """

    log_min: int
    log_end: int
    answered_end: int
    numbers: dict[str, str]


class MasterProgress(NamedTuple):
    """Consumer and delay offsets of the master, and where its log ended at that time."""

    offsets: ConsumerOffsets
    delays: DelayOffsets
    log_end: int
    answered_end: int
    modes: MessageRequestModeSerializeWrapper | None = None
    """Which groups pop; None if the master does not return it."""
    epoch: int | None = None
    """The master's epoch; None if it is Java's and knows none."""
    problem: str = ""
    """Why it accepts no messages, such as that another master was promoted."""

    def refusal(self, own_epoch: int) -> str:
        """Return why a slave with this epoch adopts nothing from it; empty if it does."""
        if self.epoch is not None and self.epoch < own_epoch:
            return f"it has epoch {self.epoch}, and this slave follows epoch {own_epoch}"
        return self.problem


class MasterTables(NamedTuple):
    """Everything that a slave copies, except the log."""

    topics: TopicTable
    groups: GroupTable
    progress: MasterProgress


class MasterCalls:
    """Sends requests to one master.

    Every method raises OSError when the master does not answer or answers with an error.

    Args:
        client: the connection to the master.
        address: ``host:port`` of the master.
        sign: signs a request for the address that it goes to, or leaves it as it is.
        timeout_s: how long an answer may take.
    """

    def __init__(
        self,
        client: RemotingClient,
        address: str,
        *,
        sign: Callable[[Command, str], None] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.address = address
        self._client = client
        self._sign = sign
        self._timeout_s = timeout_s
        self._knows_modes = True

    async def _ask(self, command: Command) -> Command:
        if self._sign is not None:
            self._sign(command, self.address)
        try:
            answer = await self._client.invoke(self.address, command, timeout_s=self._timeout_s)
        except RemotingError as error:
            raise OSError(f"master {self.address}: {error}") from error
        if ACL_REFUSAL in (answer.remark or ""):
            # Raise here, because the same code also means that there is no such message, which
            # would look as if the master had another log.
            raise OSError(f"master {self.address}: {answer.remark}; {ACL_HINT}")
        if answer.code == ResponseCode.NO_PERMISSION:
            raise OSError(f"master {self.address}: {answer.remark}; {USER_HINT}")
        return answer

    async def _read(
        self, code: RequestCode, decode: Callable[[bytes], _T], header: Header | None = None
    ) -> _T:
        """Return the decoded body of an answer."""
        answer = await self._ask(Command.request(code, header))
        if answer.code != ResponseCode.SUCCESS:
            raise OSError(f"master {self.address}: {code.name}: {answer.code} {answer.remark}")
        try:
            return decode(answer.body)
        except (BadBody, ConfigDamaged) as error:
            raise OSError(f"master {self.address}: {code.name}: {error}") from error

    async def topics(self) -> TopicTable:
        """Return the topics of the master."""
        decode = TopicConfigSerializeWrapper.decode
        body = await self._read(RequestCode.GET_ALL_TOPIC_CONFIG, decode)
        return TopicTable(topics=body.topic_config_table, data_version=body.data_version)

    async def groups(self) -> GroupTable:
        """Return the subscription groups of the master."""
        decode = SubscriptionGroupWrapper.decode
        body = await self._read(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, decode)
        return GroupTable(groups=body.subscription_group_table, data_version=body.data_version)

    async def request_modes(self) -> MessageRequestModeSerializeWrapper | None:
        """Return which groups of the master pop, or None if it is too old to know."""
        if not self._knows_modes:
            return None
        answer = await self._ask(Command.request(LaterCode.GET_ALL_MESSAGE_REQUEST_MODE))
        if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            # A 4.9 broker writes an error into its log for each such request, so ask it once.
            self._knows_modes = False
            return None
        if answer.code != ResponseCode.SUCCESS:
            raise OSError(f"master {self.address}: {answer.code} {answer.remark}")
        try:
            return MessageRequestModeSerializeWrapper.decode(answer.body)
        except BadBody as error:
            raise OSError(f"master {self.address}: request modes: {error}") from error

    async def progress(self) -> MasterProgress:
        """Return consumer offsets, delay offsets and the log's end, asked for in this order."""
        offsets, delays = await self.consumer_offsets(), await self.delay_offsets()
        table = await self.numbers()
        log_range = self._range(table)
        delay_offsets = delays_in(table) or delays
        epoch = table.get(EPOCH_KEY, "")
        return MasterProgress(
            offsets,
            delay_offsets,
            log_range.log_end,
            log_range.answered_end,
            await self.request_modes(),
            int(epoch) if epoch.isdecimal() else None,
            table.get(PROBLEM_KEY, ""),
        )

    async def consumer_offsets(self, *, beyond_master: bool = False) -> ConsumerOffsets:
        """Return all consumer offsets.

        Args:
            beyond_master: asks a slave of ours for those alone that its master did not report.
        """
        header = GetAllConsumerOffset(ha_beyond_master=True) if beyond_master else None
        code = RequestCode.GET_ALL_CONSUMER_OFFSET
        return await self._read(code, ConsumerOffsets.decode, header)

    async def delay_offsets(self) -> DelayOffsets:
        """Return the delay offset of every level."""
        decode = DelayOffsetSerializeWrapper.decode
        return DelayOffsets(
            (await self._read(RequestCode.GET_ALL_DELAY_OFFSET, decode)).offset_table
        )

    async def tables(self) -> MasterTables:
        """Return everything that a slave copies; the progress is that of the last moment."""
        return MasterTables(await self.topics(), await self.groups(), await self.progress())

    async def numbers(self) -> dict[str, str]:
        """Return the runtime information of the master."""
        return (await self._read(RequestCode.GET_BROKER_RUNTIME_INFO, KVTable.decode)).table

    async def log_range(self) -> MasterRange:
        """Return where the log of the master begins and ends."""
        return self._range(await self.numbers())

    def _range(self, table: dict[str, str]) -> MasterRange:
        try:
            log_end = table["commitLogMaxOffset"]
            answered_end = table.get(ANSWERED_KEY, log_end)
            log_min = int(table["commitLogMinOffset"])
            return MasterRange(log_min, int(log_end), int(answered_end), table)
        except (KeyError, ValueError) as error:
            raise OSError(f"master {self.address} does not say where its log is") from error

    async def record_at(self, log_offset: int) -> bytes | None:
        """Return the master's record at a log offset, or None if there is none."""
        header = ViewMessage(offset=log_offset)
        answer = await self._ask(Command.request(RequestCode.VIEW_MESSAGE_BY_ID, header))
        return answer.body if answer.code == ResponseCode.SUCCESS else None


def delays_in(table: Mapping[str, str]) -> DelayOffsets | None:
    """Return the delay offsets in a master's runtime information; None if there is no log offset.

    These offsets and the log offset of the deliveries are of the same moment; the answer to
    GET_ALL_DELAY_OFFSET is of another one.

    Raises:
        OSError: the values are not numbers.
    """
    if DELIVERED_KEY not in table:
        return None
    try:
        levels = {
            int(key.removeprefix(LEVEL_KEY)): int(value.partition(",")[0])
            for key, value in table.items()
            if key.startswith(LEVEL_KEY)
        }
        return DelayOffsets(levels, log_offset=int(table[DELIVERED_KEY]))
    except ValueError as error:
        raise OSError(f"the master returned invalid delay levels: {error}") from error


class SlaveSync:
    """Keeps the tables of one slave equal to those of its master.

    Args:
        topics: the topics of the slave.
        groups: its subscription groups.
        offsets: its consumer offsets.
        delay: its delay offsets.
        on_modes: called with the request modes of the master.
    """

    def __init__(
        self,
        *,
        topics: Topics,
        groups: Groups,
        offsets: Offsets,
        delay: DelayService,
        on_modes: Callable[[MessageRequestModeSerializeWrapper], None] = lambda modes: None,
    ) -> None:
        self.master_end = -1
        """End of the master's log as last reported; -1 before the first report."""
        self.answered_end = -1
        """The same, without the messages that were still waiting for a slave."""
        self.may_settle: Callable[[], bool] = lambda: True
        """Whether this log is known to be a beginning of the master's; until then its end says
        nothing about which messages it has."""
        self.master_flushed = 0
        """How far the master has flushed, as a tool said it (request code 908)."""
        self._topics = topics
        self._groups = groups
        self._offsets = offsets
        self._delay = delay
        self._on_modes = on_modes
        self._seen: dict[Place, int] = {}
        self._progress: MasterProgress | None = None

    def adopt(self, tables: MasterTables) -> list[str]:
        """Adopt tables of the master; return the topics that it does not have any more.

        Offsets are adopted by the ``settle`` that finds the log long enough.
        """
        gone = sorted(self._topics.adopt(tables.topics))
        self._groups.adopt(tables.groups)
        self._progress = progress = tables.progress
        if progress.modes is not None:
            self._on_modes(progress.modes)
        self.master_end, self.answered_end = progress.log_end, progress.answered_end
        return gone

    def follow_another(self) -> None:
        """Forget what the former master reported.

        The offsets of another master may be lower without a reset: it copied them later.
        """
        self._progress, self._seen = None, {}

    def settle(self, log_end: int) -> None:
        """Adopt the offsets that the master reported, if this log has reached its end by then.

        Args:
            log_end: log offset up to which this log is on the disk.
        """
        progress = self._progress
        if progress is None or progress.log_end > log_end or not self.may_settle():
            return
        self._progress = None
        self._delay.adopt(progress.delays)
        reported: dict[Place, int] = {}
        for (topic, group), queues in progress.offsets.by_queue().items():
            for queue_id, queue_offset in queues.items():
                place = topic, group, queue_id
                own = self._offsets.get(group, topic, queue_id=queue_id)
                adopted = adopted_offset(own, reported=queue_offset, seen=self._seen.get(place))
                reported[place] = queue_offset
                if adopted != own:
                    self._offsets.commit(group, topic, queue_id=queue_id, queue_offset=adopted)
        self._drop_deleted(self._seen.keys() - reported.keys())
        self._seen = reported

    def _drop_deleted(self, places: Iterable[Place]) -> None:
        """Drop offsets that the master deleted together with their group or topic.

        A master that lost its offsets, but neither groups nor topics, deletes none here.
        """
        for topic, group, queue_id in places:
            if self._groups.get(group) is None or self._topics.get(topic) is None:
                self._offsets.drop(group, topic, queue_id=queue_id)

    def beyond_master(self) -> ConsumerOffsets:
        """Return the offsets that are ahead of what the master reported last.

        Clients committed them here while the master was away. A master that returns asks for
        them, and so does not undo a reset or a deletion of its own that this slave has copied.
        """
        return ConsumerOffsets(
            offsets={
                (topic, group): ahead
                for (topic, group), queues in self._offsets.table().by_queue().items()
                if (
                    ahead := {
                        queue_id: queue_offset
                        for queue_id, queue_offset in queues.items()
                        if queue_offset > self._seen.get((topic, group, queue_id), NO_OFFSET)
                    }
                )
            }
        )


def adopted_offset(known: int, *, reported: int, seen: int | None) -> int:
    """Return the queue offset of a group that this slave should have.

    Args:
        known: queue offset on this slave; NO_OFFSET for none.
        reported: queue offset that the master reports now.
        seen: what the master reported the time before; None for the first time.
    """
    if reported < 0:
        return known
    if known == NO_OFFSET or reported >= known:
        return reported
    # The master's offset is lower. If it went down since the last report, it was reset on the
    # master and is adopted; otherwise the master is only behind.
    return reported if seen is not None and reported < seen else known
