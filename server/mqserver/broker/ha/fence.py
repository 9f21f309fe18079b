"""Fence a master when another one was promoted; ``mqserver.broker.ha.epoch`` has the rule.

    answer of a name server of this project ──────┐
    slave or promoted broker, on the HA port ─────┼─ trusted? ─ above its own epoch? ── FENCED
    other brokers of this name, which it asks ────┘
        FENCED   it stores no messages, serves no slaves and registers with no name server

A master asks the brokers in ``brokerAddresses`` and the master that it replaced, and with accounts
also the brokers of its name that the name servers know. ``mqserver.broker.ha.trust`` says whom it
believes. It also sends its epoch to masters with a lower one.

Rule: a master that starts accepts messages when the others have answered or the timeout
(``ASK_S``) is over. Java brokers and name servers have no epochs.

Source: none, RocketMQ 4.9 has no fencing.
"""

import asyncio
import dataclasses
import logging
import secrets
from typing import Final, NamedTuple

from mqserver.broker.ha.epoch import START, EpochEvent, EpochFile, Standing, step
from mqserver.broker.ha.receiving import tell_epoch
from mqserver.broker.ha.trust import Trust
from mqserver.broker.registration import cluster_info
from mqserver.broker.state import Broker
from mqserver.runtime.access.admin_gate import address_list
from mqserver.runtime.observers import Observers
from remoting.aio.client import RemotingClient
from remoting.codes import ExtensionCode, ResponseCode
from remoting.command import Command
from remoting.errors import BadCall, BadHeader, RemotingError
from remoting.headers import GetEpoch, GetEpochResponse, HaEpoch
from storefmt.config.epochs import is_believable

LOG = logging.getLogger(__name__)

ASK_S: Final = 3.0
NAMED_MAX: Final = 16
"""Most brokers that are asked because a name server has them under this name."""
WARNED_MAX: Final = 256
IS_ASKING: Final = "this master has just started and asks whether another one was promoted"


class Peer(NamedTuple):
    """What another broker of this name answers; ``problem`` is why it accepts no messages."""

    address: str
    epoch: int
    role: str
    ha_address: str
    problem: str
    is_trusted: bool
    """Whether it is configured, or has proved that it belongs to the cluster."""

    @property
    def is_master(self) -> bool:
        """Return whether it is a master, fenced or not."""
        return self.role != "SLAVE"


def answer_statement(
    challenge: str, answer: GetEpochResponse, cluster: str
) -> tuple[str | int, ...]:
    """Return what the proof in an answer covers."""
    return (
        "answer", challenge, cluster, answer.broker_name, answer.epoch, answer.role,
        answer.ha_address, answer.problem,
    )  # fmt: skip


class Fence:
    """Keeps the standing of one broker and lets it accept messages only when it leads.

    Args:
        broker: accepts or refuses messages as this class decides.
        client: connections to other brokers and name servers.
        file: the epochs as read at the start.
        trust: says whom this broker believes.
    """

    def __init__(
        self,
        broker: Broker,
        *,
        client: RemotingClient,
        file: EpochFile,
        trust: Trust,
    ) -> None:
        self.file = file
        self.fenced = Observers[[]]()
        """Called when this broker must stop acting as a master and being registered as one."""
        self.peers: list[Peer] = []
        """The other masters of this name that answered in the last round."""
        self.standing = START[not broker.config.is_slave, file.is_outranked]
        self._broker = broker
        self._client = client
        self._trust = trust
        self._warned: set[str] = set()
        if self.standing is not Standing.FOLLOWS:
            self._refuse(IS_ASKING)
        if self.standing is Standing.FENCED:
            self._close("it is kept in epoch.json")

    @property
    def is_fenced(self) -> bool:
        """Return whether this is a master and another broker was promoted after it."""
        return self.standing is Standing.FENCED

    def hear(self, epoch: int, source: str) -> None:
        """Note an epoch of this broker name; fence this master if it is higher than its own.

        Args:
            epoch: in ms since 1970; one that is far beyond the clock is not believed.
            source: the trusted peer that it came from, for the log.
        """
        if epoch <= self.file.heard:
            return
        now_ms = self._broker.clock.now_ms()
        if not is_believable(epoch, now_ms):
            self._warn(
                source,
                f"ignored epoch {epoch} of {source}, which lies {(epoch - now_ms) // 1000} s ahead "
                "of this clock; compare the clocks of the brokers",
            )
            return
        try:
            self.file = self.file.replace(heard=epoch)
        except OSError as error:
            LOG.error("could not save epoch %d, so a restart forgets it: %s", epoch, error)
            self.file = dataclasses.replace(self.file, heard=epoch)
        if self.file.is_outranked:
            was_fenced, self.standing = self.is_fenced, step(self.standing, EpochEvent.HIGHER)
            if self.is_fenced and not was_fenced:
                self._close(f"heard from {source}")
                self.fenced()

    def hear_name_server(self, answer: HaEpoch, source: str) -> None:
        """Note the epoch in a name server's answer; where there are accounts, only with a proof."""
        statement = self._promotion(answer.ha_epoch)
        if not self._trust.has_accounts or self._trust.is_proved(answer.ha_epoch_proof, *statement):
            self.hear(answer.ha_epoch, source)
        elif answer.ha_epoch > self.file.heard:
            self._warn(
                source,
                f"ignored epoch {answer.ha_epoch} of {source}: no account of this broker proves "
                "it; a broker without keys, or a stranger, has registered it there",
            )

    def hear_slave(self, epoch: int, address: str) -> None:
        """Note an epoch that came on the HA port, if slaveAddresses has the sender."""
        allowed = address_list(self._broker.config.slave_addresses, key="slaveAddresses")
        if allowed.matches(_host_of(address).strip("[]")):
            self.hear(epoch, f"slave {address}")
        else:
            self._warn(
                _host_of(address),
                f"ignored epoch {epoch} of {address} on the HA port: its address is not in "
                "slaveAddresses",
            )

    @property
    def followed_epoch(self) -> int:
        """Return the least epoch of a master whose tables this slave adopts.

        It is 0 in a group with a controller, which alone says who the master is.
        """
        return 0 if self._broker.config.enable_controller_mode else self.file.epoch

    def registered_epoch(self) -> HaEpoch:
        """Return the epoch that this broker registers.

        A master of a group was elected after every promotion that it has heard of, so it registers
        the newest one: with less, a name server would take it for a master that was replaced.
        """
        epoch = self.file.epoch
        if self._broker.config.enable_controller_mode:
            epoch = max(epoch, self.file.heard)
        return HaEpoch(ha_epoch=epoch, ha_epoch_proof=self._trust.prove(*self._promotion(epoch)))

    def _promotion(self, epoch: int) -> tuple[str | int, ...]:
        config = self._broker.config
        return "promotion", config.broker_cluster_name, config.broker_name, epoch

    def _warn(self, source: str, text: str) -> None:
        """Log a warning once for each source."""
        if source not in self._warned and len(self._warned) < WARNED_MAX:
            self._warned.add(source)
            LOG.warning("%s", text)

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
        self._broker.group_commit.commit()
        text = (
            f"this broker is no longer the master of {self._broker.config.broker_name}: its "
            f"epoch is {self.file.epoch}, and epoch {self.file.heard} was promoted ({source}); "
            "`mqadmin broker demote` makes it a slave of the new master"
        )
        LOG.error("%s", text)
        self._refuse(text)

    # Other brokers.

    async def round(self, now_ms: int) -> None:
        """Ask the other brokers of this name for their epochs, and send ours to older masters."""
        config = self._broker.config
        if config.is_slave:
            return
        addresses = {*config.other_brokers, self.file.former_master}
        if self._trust.has_accounts:
            # Any client may have registered these, but they can prove themselves when asked.
            addresses |= set(sorted(await self._named())[:NAMED_MAX])
        asked = sorted(addresses - {"", config.broker_addr})
        answers = await asyncio.gather(*(self.ask(address) for address in asked))
        answered = [peer for peer in answers if peer is not None]
        self.peers = [peer for peer in answered if peer.is_master]
        for peer in answered:
            if peer.is_trusted:
                self.hear(peer.epoch, peer.address)
        for peer in self.peers:
            await self._send_epoch(peer)

    async def _named(self) -> set[str]:
        """Return the addresses that the name servers have for this broker name."""
        name = self._broker.config.broker_name
        named: set[str] = set()
        for info in await asyncio.gather(
            *(cluster_info(self._client, at) for at in self._broker.config.namesrv_addrs)
        ):
            if info is not None and name in info.broker_addr_table:
                named |= set(info.broker_addr_table[name].broker_addrs.values())
        return named

    async def ask(self, address: str) -> Peer | None:
        """Ask a broker for its epoch with a fresh challenge; nothing is signed.

        Returns:
            None for a broker that does not answer, knows no epochs, has another name, or answers
            nonsense.
        """
        config, challenge = self._broker.config, secrets.token_hex(16)
        question = GetEpoch(
            broker_name=config.broker_name,
            challenge=challenge,
            access_key=self._trust.access_key,
        )
        try:
            command = Command.request(ExtensionCode.GET_EPOCH, question)
            reply = await self._client.invoke(address, command, timeout_s=ASK_S)
            if reply.code != ResponseCode.SUCCESS:
                LOG.debug("broker %s did not return its epoch: code %d", address, reply.code)
                return None
            answer = reply.header(GetEpochResponse)
        except BadHeader as error:
            self._warn(address, f"ignored {address}, whose answer makes no sense: {error}")
            return None
        except RemotingError as error:
            LOG.debug("broker %s did not return its epoch: %s", address, error)
            return None
        if answer.broker_name != config.broker_name:
            return None
        statement = answer_statement(challenge, answer, config.broker_cluster_name)
        is_proved = self._trust.is_proved(answer.proof, *statement)
        if is_proved:
            self._trust.note_proved(address)
        return Peer(
            address,
            answer.epoch,
            answer.role,
            answer.ha_address,
            answer.problem,
            is_proved or self._trust.is_configured(address),
        )

    def tell_epoch(self, question: GetEpoch) -> GetEpochResponse:
        """Return this broker's epoch and role, with a proof if it has the account."""
        config = self._broker.config
        refusal = self._broker.sender.refusal
        answer = GetEpochResponse(
            broker_name=config.broker_name,
            epoch=self.file.epoch,
            role=config.broker_role.name,
            ha_address="" if config.is_slave else config.ha_server_addr,
            problem=self.standing.name if refusal and not config.is_slave else "",
        )
        statement = answer_statement(question.challenge, answer, config.broker_cluster_name)
        proof = self._trust.prove(*statement, access_key=question.access_key)
        return dataclasses.replace(answer, proof=proof)

    async def _send_epoch(self, peer: Peer) -> None:
        if self.is_fenced or peer.problem or not peer.ha_address or peer.epoch >= self.file.epoch:
            return
        if not peer.is_trusted and _host_of(peer.ha_address) != _host_of(peer.address):
            return
        LOG.error(
            "%s is a master of the same name with epoch %d; sending it epoch %d",
            peer.address, peer.epoch, self.file.epoch,
        )  # fmt: skip
        try:
            await tell_epoch(peer.ha_address, self.file.epoch)
        except (OSError, BadCall) as error:
            LOG.warning("could not tell %s: %s; is this machine in its slaveAddresses?",
                        peer.address, error)  # fmt: skip

    def numbers(self) -> dict[str, str]:
        """Return the entries of the runtime information that are about epochs."""
        config = self._broker.config
        numbers = {
            "haEpoch": str(self.file.epoch),
            "haEpochHeard": str(self.file.heard),
            "haBrokerName": config.broker_name,
            "haFence": self._broker.sender.refusal,
        }
        if not config.is_slave:
            numbers["haServerAddress"] = config.ha_server_addr
        for number, peer in enumerate(self.peers):
            numbers[f"haPeer_{number}"] = peer.address
        return numbers


def _host_of(address: str) -> str:
    return address.rpartition(":")[0]
