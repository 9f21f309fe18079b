"""What a returning master takes over from its slaves: the progress of groups that read there.

    master away    consumers read at the slave and commit their offsets there
    master starts  ── runtime information, GET_ALL_CONSUMER_OFFSET ──> each slave, within ``ASK_S``
                   <── offsets that the master does not know
                   then it serves clients

Rule: offsets only go up, and never beyond the end of a queue here. Only slaves of this broker
name are asked, at addresses that may be slaves of this broker (``may_ask``), and only one whose log
this log contains is believed. A slave of ours returns what is ahead of its master's last report,
so no reset of the last seconds is undone; a Java slave, and a slave that was restarted meanwhile,
return everything. A slave that does not answer in time is logged and left out.

Source: none; in RocketMQ 4.9 the slave's offsets are overwritten or lost, and groups read again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

from mqserver.broker.ha.slave_synchronize import EPOCH_KEY, MasterCalls, delays_in
from mqserver.broker.registration import cluster_info
from mqserver.broker.state import Broker
from remoting.aio.client import RemotingClient
from storefmt.config.tables import ConsumerOffsets, DelayOffsets

LOG = logging.getLogger(__name__)

ASK_S: Final = 3.0
"""How long clients wait for a slave when a master starts, at most."""


class SlaveProgress(NamedTuple):
    """The progress of consumers and delay levels that one slave has."""

    address: str
    offsets: ConsumerOffsets
    delays: DelayOffsets


class ReturningMaster:
    """A master that starts with a store that has messages.

    Args:
        broker: the broker, which serves no clients yet.
        client: connections to name servers and slaves.
        calls: returns the connection to the broker at an address.
        may_ask: returns whether ``host:port`` may be the address of a slave.
        challenge: asks the broker at an address to prove itself; with accounts, requests are then
            signed for it.
        epoch: the epoch of this broker.
    """

    def __init__(
        self,
        broker: Broker,
        *,
        client: RemotingClient,
        calls: Callable[[str], MasterCalls],
        may_ask: Callable[[str], bool],
        challenge: Callable[[str], Awaitable[object]],
        epoch: int,
    ) -> None:
        self._broker = broker
        self._client = client
        self._calls = calls
        self._may_ask = may_ask
        self._challenge = challenge
        self._epoch = epoch

    async def catch_up(self) -> None:
        """Take over the progress of all slaves that answer in time."""
        slaves = await self._slaves()
        answers = (
            self._ask_in_time(address, is_registered=is_registered)
            for address, is_registered in slaves.items()
        )
        for progress in await asyncio.gather(*answers):
            if progress is not None:
                self._take_over(progress)

    async def _ask_in_time(self, address: str, *, is_registered: bool) -> SlaveProgress | None:
        try:
            async with asyncio.timeout(ASK_S):
                return await self._ask(address, is_registered=is_registered)
        except OSError as error:
            LOG.warning(
                "ignored slave %s: %s; what groups read there while this master was away may "
                "come again", address, str(error) or f"no answer within {ASK_S:g} s",
            )  # fmt: skip
            return None

    async def _slaves(self) -> dict[str, bool]:
        """Return the addresses to ask, and whether a name server has a slave there."""
        config = self._broker.config
        infos = await asyncio.gather(
            *(cluster_info(self._client, address) for address in config.namesrv_addrs)
        )
        addresses = dict.fromkeys(config.other_brokers, False)
        for info in infos:
            data = None if info is None else info.broker_addr_table.get(config.broker_name)
            for broker_id, address in ({} if data is None else data.broker_addrs).items():
                if broker_id:
                    addresses[address] = True
        addresses.pop(config.broker_addr, None)
        allowed = {address: addresses[address] for address in addresses if self._may_ask(address)}
        for address in addresses.keys() - allowed.keys():
            LOG.warning("did not ask slave %s, which is not in slaveAddresses", address)
        return allowed

    async def _ask(self, address: str, *, is_registered: bool) -> SlaveProgress | None:
        """Return the progress of a slave; None for a broker that is not a slave of this log.

        Raises:
            OSError: it does not answer, or its log has more than this one.
        """
        await self._challenge(address)
        calls = self._calls(address)
        numbers = await calls.numbers()
        if not self._is_slave(numbers, is_registered=is_registered):
            return None
        log_end, own_end = numbers.get("commitLogMaxOffset", ""), self._broker.store.written_offset
        if not log_end.isdecimal() or int(log_end) > own_end:
            raise OSError(
                f"its log ends at {log_end or 'an unknown offset'}, and this one at {own_end}"
            )
        # Without any offset here, its file is lost, and everything that the slave has is needed.
        has_offsets = bool(self._broker.offsets.table().by_queue())
        offsets = await calls.consumer_offsets(beyond_master=has_offsets)
        return SlaveProgress(address, offsets, delays_in(numbers) or await calls.delay_offsets())

    def _is_slave(self, numbers: Mapping[str, str], *, is_registered: bool) -> bool:
        name, role = numbers.get("haBrokerName"), numbers.get("haRole")
        if role is None:
            # A Java broker returns neither role nor name.
            return is_registered
        epoch = numbers.get(EPOCH_KEY, "")
        is_outranked = epoch.isdecimal() and int(epoch) > self._epoch
        return role == "SLAVE" and name == self._broker.config.broker_name and not is_outranked

    def _take_over(self, progress: SlaveProgress) -> None:
        broker, count = self._broker, 0
        for (topic, group), queues in progress.offsets.by_queue().items():
            settings = broker.topics.get(topic)
            for queue_id, reported in queues.items():
                if settings is None or not 0 <= queue_id < settings.read_queue_nums:
                    continue
                queue_offset = min(reported, broker.store.max_offset(topic, queue_id))
                if queue_offset > broker.offsets.get(group, topic, queue_id=queue_id):
                    broker.offsets.commit(
                        group, topic, queue_id=queue_id, queue_offset=queue_offset
                    )
                    count += 1
        if self._is_ahead(progress.delays):
            broker.delay.adopt(progress.delays)
        LOG.info(
            "took over %d consumer offsets that were ahead on slave %s", count, progress.address
        )

    def _is_ahead(self, delays: DelayOffsets) -> bool:
        """Return whether a slave's delay offsets say more than the file and the log here.

        The log shows the deliveries that the file lacks. So only a lost file leaves a gap, unless
        the slave returns the log offset after which later deliveries lie.
        """
        own = self._broker.delay.offsets().offsets
        if own and delays.log_offset is None:
            return False
        is_behind = any(delays.offsets.get(level, 0) < count for level, count in own.items())
        return delays.offsets != own and not is_behind
