"""What a slave copies besides the log: topics, groups, where consumers and delays are.

    every 10 s   GET_ALL_TOPIC_CONFIG, GET_ALL_SUBSCRIPTIONGROUP_CONFIG   taken at once
                 GET_ALL_CONSUMER_OFFSET, GET_ALL_DELAY_OFFSET            taken when this log
                 GET_BROKER_RUNTIME_INFO: the end of the master's log       has all up to that end

Rule: nothing older replaces something newer: tables by their data version, offsets by what the
master said before. An offset that is ahead of the log would lose messages when this slave
becomes the master; it waits for the log.

Source: broker/slave/SlaveSynchronize.java (which takes whatever comes, and signs nothing).
"""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from remoting.acl import sign
from remoting.aio.client import RemotingClient
from remoting.bodies import (
    DelayOffsetSerializeWrapper,
    KVTable,
    SubscriptionGroupWrapper,
    TopicConfigSerializeWrapper,
)
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.errors import BadBody, RemotingError
from remoting.headers import ViewMessage
from remoting.toolskeys import TOOLS_FILE, tools_keys
from server.broker.clients.groups import Groups
from server.broker.clients.offsets import NO_OFFSET, Offsets
from server.broker.delay.schedule import DelayService
from server.broker.topics import Topics
from storefmt.config.tables import (
    ConsumerOffsets,
    DataVersion,
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
    "on the master's globalWhiteRemoteAddresses"
)

LEVEL_KEY: Final = "scheduleMessageOffset_"
"""Begins the key of a level in a broker's numbers; the value is ``progress,end``."""
DELIVERED_KEY: Final = "haDeliveredLogOffset"
"""Key of the log offset that parts deliveries which the levels count from later ones."""

Place = tuple[str, str, int]
"""Topic, group, queue id."""


def keys_below(home: Path | None) -> tuple[str, str] | None:
    """Return the access key and the secret key in ``conf/tools.yml``, None where there are none.

    Raises:
        OSError: the file is there and cannot be read.
    """
    path = None if home is None else home / TOOLS_FILE
    if path is None or not path.is_file():
        return None
    access_key, secret_key = tools_keys(path.read_text(encoding="utf-8"))
    return (access_key, secret_key) if access_key and secret_key else None


class MasterRange(NamedTuple):
    """Where the log of the master begins and ends.

    ``answered_end`` is where the messages begin that still wait for a slave: nobody was told
    that they are stored. It is the end where none does, and of a Java master. ``numbers`` is
    all that the master says of itself.
    """

    log_min: int
    log_end: int
    answered_end: int
    numbers: dict[str, str]


class Told(NamedTuple):
    """What the master said of its progress, and what its log had then."""

    offsets: ConsumerOffsets
    delays: DelayOffsets
    log_end: int
    answered_end: int


class MasterCalls:
    """Asks one master.

    Every method raises OSError when it does not answer, or not well.

    Args:
        keys: access key and secret key to sign with; None to sign nothing.
        timeout_s: how long an answer may take.
    """

    def __init__(
        self,
        client: RemotingClient,
        address: str,
        *,
        keys: tuple[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.address = address
        self._client = client
        self._keys = keys
        self._timeout_s = timeout_s

    async def _ask(self, command: Command) -> Command:
        if self._keys is not None:
            sign(command, *self._keys)
        try:
            answer = await self._client.invoke(self.address, command, timeout_s=self._timeout_s)
        except RemotingError as error:
            raise OSError(f"master {self.address}: {error}") from error
        if ACL_REFUSAL in (answer.remark or ""):
            # The same code says that there is no message: that would be another log.
            raise OSError(f"master {self.address}: {answer.remark}; {ACL_HINT}")
        return answer

    async def _read(self, code: RequestCode, decode: Callable[[bytes], _T]) -> _T:
        """Return what the body of an answer holds."""
        answer = await self._ask(Command.request(code))
        if answer.code != ResponseCode.SUCCESS:
            raise OSError(f"master {self.address}: {code.name}: {answer.code} {answer.remark}")
        try:
            return decode(answer.body)
        except (BadBody, ConfigDamaged) as error:
            raise OSError(f"master {self.address}: {code.name}: {error}") from error

    async def topics(self) -> TopicTable:
        """Return its topics."""
        decode = TopicConfigSerializeWrapper.decode
        body = await self._read(RequestCode.GET_ALL_TOPIC_CONFIG, decode)
        return TopicTable(topics=body.topic_config_table, data_version=body.data_version)

    async def groups(self) -> GroupTable:
        """Return its consumer groups."""
        decode = SubscriptionGroupWrapper.decode
        body = await self._read(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, decode)
        return GroupTable(groups=body.subscription_group_table, data_version=body.data_version)

    async def progress(self) -> Told:
        """Return the positions of consumers and delay levels, then the end of its log."""
        offsets = await self._read(RequestCode.GET_ALL_CONSUMER_OFFSET, ConsumerOffsets.decode)
        delays = await self._read(
            RequestCode.GET_ALL_DELAY_OFFSET, DelayOffsetSerializeWrapper.decode
        )
        table = await self.numbers()
        found = self._range(table)
        told = delays_in(table) or DelayOffsets(delays.offset_table)
        return Told(offsets, told, found.log_end, found.answered_end)

    async def numbers(self) -> dict[str, str]:
        """Return its runtime information."""
        return (await self._read(RequestCode.GET_BROKER_RUNTIME_INFO, KVTable.decode)).table

    async def log_range(self) -> MasterRange:
        """Return where its log begins and ends."""
        return self._range(await self.numbers())

    def _range(self, table: dict[str, str]) -> MasterRange:
        try:
            log_end = table["commitLogMaxOffset"]
            answered_end = table.get("haAnsweredOffset", log_end)
            log_min = int(table["commitLogMinOffset"])
            return MasterRange(log_min, int(log_end), int(answered_end), table)
        except (KeyError, ValueError) as error:
            raise OSError(f"master {self.address} does not say where its log is") from error

    async def record_at(self, log_offset: int) -> bytes | None:
        """Return the record at a log offset, None where there is none."""
        header = ViewMessage(offset=log_offset)
        answer = await self._ask(Command.request(RequestCode.VIEW_MESSAGE_BY_ID, header))
        return answer.body if answer.code == ResponseCode.SUCCESS else None


def delays_in(table: Mapping[str, str]) -> DelayOffsets | None:
    """Return how far a master is that says where its deliveries lie, None for another one.

    The progress is that of the same moment, which the answer to request 45 is not.
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
        raise OSError(f"master tells no numbers of its delay levels: {error}") from error


class SlaveSync:
    """Keeps the tables of one slave like those of its master."""

    def __init__(
        self, *, topics: Topics, groups: Groups, offsets: Offsets, delay: DelayService
    ) -> None:
        self.master_end = -1
        """End of the master's log as last told; -1 while it has said nothing."""
        self.answered_end = -1
        """The same, without what was still waiting for a slave."""
        self.takes_all = False
        """Whether the next round takes the master's tables, though those here may be newer."""
        self._topics = topics
        self._groups = groups
        self._offsets = offsets
        self._delay = delay
        self._seen: dict[Place, int] = {}
        self._told: Told | None = None
        self._warned: set[str] = set()

    async def round(self, master: MasterCalls) -> list[str]:
        """Ask for everything once; returns the topics that are gone.

        Raises:
            OSError: the master did not answer.
            StoreError: it answered something that cannot be read.
        """
        topics, groups = await master.topics(), await master.groups()
        takes_all, self.takes_all = self.takes_all, False
        gone: list[str] = []
        if takes_all or self._may_take("topics", topics.data_version, self._topics.version):
            gone = sorted(self._topics.names() - topics.topics.keys())
            self._topics.adopt(topics)
        if takes_all or self._may_take("groups", groups.data_version, self._groups.version):
            self._groups.adopt(groups)
        self._told = await master.progress()
        self.master_end, self.answered_end = self._told.log_end, self._told.answered_end
        return gone

    def settle(self, log_end: int) -> None:
        """Take the progress that the master told, once this log has what it stands for."""
        told = self._told
        if told is None or told.log_end > log_end:
            return
        self._told = None
        self._delay.adopt(told.delays)
        for (topic, group), queues in told.offsets.by_queue().items():
            for queue_id, queue_offset in queues.items():
                place = topic, group, queue_id
                known = self._offsets.get(group, topic, queue_id=queue_id)
                wanted = newest(known, told=queue_offset, seen=self._seen.get(place))
                self._seen[place] = queue_offset
                if wanted != known:
                    self._offsets.commit(group, topic, queue_id=queue_id, queue_offset=wanted)

    def _may_take(self, what: str, theirs: DataVersion, ours: DataVersion) -> bool:
        if theirs == ours:
            return False
        # A table that nobody has changed here was made at the start of this process.
        if ours.counter == 0 or (theirs.timestamp_ms, theirs.counter) >= (
            ours.timestamp_ms,
            ours.counter,
        ):
            self._warned.discard(what)
            return True
        if what not in self._warned:
            self._warned.add(what)
            LOG.warning("the master's %s are older than those here and are not taken", what)
        return False


def newest(known: int, *, told: int, seen: int | None) -> int:
    """Return where a group is in a queue, by what the master and this slave know.

    Args:
        known: here; NO_OFFSET for nothing.
        told: by the master now, ``seen``: the time before; None for the first time.
    """
    if told < 0:
        return known
    if known == NO_OFFSET or told >= known:
        return told
    # Smaller than here: a reset on the master, unless it is only behind.
    return told if seen is not None and told < seen else known
