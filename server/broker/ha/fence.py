"""Fence a master when another one was promoted; ``server.broker.ha.epoch`` has the rule.

    answer of a name server of this project ──────┐
    slave or promoted broker, on the HA port ─────┼─ heard ─ above its own epoch? ── FENCED
    other brokers of this name, which it asks ────┘
        FENCED   it stores no messages, serves no slaves and registers with no name server

A master asks the brokers in ``brokerAddresses``, the master that it replaced, and every broker of
its name that the name servers know. It also tells its epoch to masters with a lower one.

Rule: a master that starts accepts messages when the others have answered or the timeout
(``ASK_S``) is over. Java brokers and name servers know no epochs and tell none.

Source: none, RocketMQ 4.9 has no fencing.
"""

import asyncio
import dataclasses
import logging
from collections.abc import Mapping
from typing import Final, NamedTuple

from remoting.aio.client import RemotingClient
from remoting.errors import RemotingError
from server.broker.ha.epoch import START, EpochEvent, EpochFile, Standing, step
from server.broker.ha.receiving import tell_epoch
from server.broker.ha.slave_synchronize import MasterCalls
from server.broker.registration import cluster_info
from server.broker.state import Broker
from server.runtime.observers import Observers

LOG = logging.getLogger(__name__)

ASK_S: Final = 3.0
IS_ASKING: Final = "this master has just started and asks whether another one was promoted"


class Peer(NamedTuple):
    """What another broker of this name reports; ``problem`` is why it accepts no messages."""

    address: str
    epoch: int
    role: str
    ha_address: str
    problem: str

    @property
    def is_master(self) -> bool:
        """Tell whether it is a master, fenced or not."""
        return self.role != "SLAVE"


def peer_of(address: str, numbers: Mapping[str, str], *, broker_name: str) -> Peer | None:
    """Return what the runtime information of a broker says about its epoch.

    Returns:
        None for a broker that knows no epochs or has another name.
    """
    epoch = numbers.get("haEpoch", "")
    if not epoch.isdecimal() or numbers.get("haBrokerName") != broker_name:
        return None
    return Peer(
        address,
        int(epoch),
        numbers.get("haRole", ""),
        numbers.get("haServerAddress", ""),
        numbers.get("haFence", ""),
    )


class Fence:
    """Keeps the standing of one broker and lets it accept messages only when it leads.

    Args:
        broker: accepts or refuses messages as told here.
        client: connections to other brokers and name servers.
        file: the epochs as read at the start.
        keys: access key and secret key to sign requests to other brokers; None for unsigned.
    """

    def __init__(
        self,
        broker: Broker,
        *,
        client: RemotingClient,
        file: EpochFile,
        keys: tuple[str, str] | None,
    ) -> None:
        self.file = file
        self.fenced = Observers[[]]()
        """Told when this broker must stop acting as a master and being registered as one."""
        self.peers: list[Peer] = []
        """The other masters of this name that answered in the last round."""
        self.standing = START[not broker.config.is_slave, file.is_outranked]
        self._broker = broker
        self._client = client
        self._keys = keys
        if self.standing is not Standing.FOLLOWS:
            self._refuse(IS_ASKING)
        if self.standing is Standing.FENCED:
            self._close("it is kept in epoch.json")

    @property
    def is_fenced(self) -> bool:
        """Tell whether this is a master and another broker was promoted after it."""
        return self.standing is Standing.FENCED

    def hear(self, epoch: int, source: str) -> None:
        """Note an epoch of this broker name; fence this master if it is higher than its own.

        Args:
            epoch: in ms since 1970.
            source: who told it, for the log.
        """
        if epoch <= self.file.heard:
            return
        try:
            self.file = self.file.replace(heard=epoch)
        except OSError as error:
            LOG.error("epoch %d is not kept, and is forgotten with this process: %s", epoch, error)
            self.file = dataclasses.replace(self.file, heard=epoch)
        if self.file.is_outranked:
            was_fenced, self.standing = self.is_fenced, step(self.standing, EpochEvent.HIGHER)
            if self.is_fenced and not was_fenced:
                self._close(f"{source} told it")
                self.fenced()

    def end_asking(self) -> None:
        """Accept messages, after the other brokers were asked, unless this broker is fenced."""
        if self.standing in (Standing.ASKING, Standing.FENCED):
            self.standing = step(self.standing, EpochEvent.ASKED)
        if self.standing is Standing.LEADS:
            self._open()

    def save_promotion(self, now_ms: int, *, role: str, former_master: str) -> None:
        """Save the epoch of a promotion that is ordered now; call ``lead`` afterwards.

        Args:
            role: the master role that this broker gets.
            former_master: ``host:port`` of the master that it replaces; empty if unknown.

        Raises:
            OSError: the file cannot be written; nothing has changed.
        """
        self.file = self.file.replace(
            epoch=self.file.next_epoch(now_ms), master_role=role, former_master=former_master
        )

    def lead(self) -> None:
        """Accept messages, because the promotion is complete."""
        self.standing = step(self.standing, EpochEvent.PROMOTED)
        self._open()

    def follow(self, epoch: int, role: str) -> bool:
        """Save that this store has the log of a master; return whether its epoch is higher.

        Raises:
            OSError: the file cannot be written.
        """
        is_newer = epoch > self.file.epoch
        self.file = self.file.replace(epoch=max(epoch, self.file.epoch), master_role=role)
        return is_newer

    def _open(self) -> None:
        self._broker.store.is_copy = False
        self._broker.sender.refusal = ""
        self._broker.sender.forget_routes()

    def _refuse(self, why: str) -> None:
        self._broker.store.is_copy = True
        self._broker.sender.refusal = why
        self._broker.sender.forget_routes()

    def _close(self, source: str) -> None:
        """Accept no messages from now on, because another master was promoted."""
        # Messages that were put in this turn are still written and acknowledged.
        self._broker.turn.commit()
        text = (
            f"this broker is no longer the master of {self._broker.config.broker_name}: its "
            f"epoch is {self.file.epoch}, and epoch {self.file.heard} was promoted ({source}); "
            "`mqadmin broker demote` makes it a slave of the new master"
        )
        LOG.error("%s", text)
        self._refuse(text)

    # Other brokers.

    async def round(self, now_ms: int) -> None:
        """Ask the other brokers of this name for their epochs, and tell older masters ours."""
        config = self._broker.config
        if config.is_slave:
            return
        addresses = {*config.other_brokers, self.file.former_master, *await self._named()}
        asked = sorted(addresses - {"", config.broker_addr})
        found = await asyncio.gather(*(self._ask(address) for address in asked))
        answered = [peer for peer in found if peer is not None]
        self.peers = [peer for peer in answered if peer.is_master]
        for peer in answered:
            self.hear(peer.epoch, peer.address)
        for peer in self.peers:
            await self._tell(peer)

    async def _named(self) -> set[str]:
        """Return the addresses that the name servers have for this broker name."""
        name = self._broker.config.broker_name
        found: set[str] = set()
        for info in await asyncio.gather(
            *(cluster_info(self._client, at) for at in self._broker.config.namesrv_addrs)
        ):
            if info is not None and name in info.broker_addr_table:
                found |= set(info.broker_addr_table[name].broker_addrs.values())
        return found

    async def _ask(self, address: str) -> Peer | None:
        calls = MasterCalls(self._client, address, keys=self._keys, timeout_s=ASK_S)
        try:
            numbers = await calls.numbers()
        except (OSError, RemotingError) as error:
            LOG.debug("broker %s does not tell its epoch: %s", address, error)
            return None
        return peer_of(address, numbers, broker_name=self._broker.config.broker_name)

    async def _tell(self, peer: Peer) -> None:
        if self.is_fenced or peer.problem or not peer.ha_address or peer.epoch >= self.file.epoch:
            return
        LOG.error(
            "%s is a master of the same name, with epoch %d; it is told epoch %d",
            peer.address, peer.epoch, self.file.epoch,
        )  # fmt: skip
        try:
            await tell_epoch(peer.ha_address, self.file.epoch)
        except OSError as error:
            LOG.warning("%s was not told: %s; is this machine in its slaveAddresses?",
                        peer.address, error)  # fmt: skip

    def numbers(self) -> dict[str, str]:
        """Return the entries of the runtime information that are about epochs."""
        config = self._broker.config
        found = {
            "haEpoch": str(self.file.epoch),
            "haEpochHeard": str(self.file.heard),
            "haBrokerName": config.broker_name,
            "haFence": self._broker.sender.refusal,
        }
        if not config.is_slave:
            found["haServerAddress"] = config.ha_server_addr
        for number, peer in enumerate(self.peers):
            found[f"haPeer_{number}"] = peer.address
        return found
