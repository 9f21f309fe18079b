"""The groups of a controller: read a record, apply a rule, make the outcome durable.

    handlers ── request ──> BrokerGroups ── group_rules ──> Ruling
    detection ─ no master ─┘   └── group_store.swap ──> durable ──> notices to brokers

Rule: the store decides which of two concurrent requests on a group comes first, whether one
controller handles them or two; the second request is then judged again by the new record. Brokers
learn of a new master only after the record that names it is durable, so that a crash cannot lead
to two masters of one epoch.

Source: controller/impl/DLedgerController.java, controller/ControllerManager.java (5.4.0).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mqserver.controller.group_record import GroupRecord
from mqserver.controller.group_rules import Ruling, rule_elect
from mqserver.controller.group_store import GroupStore
from mqserver.controller.live_brokers import BrokerKey, LiveBroker, LiveBrokers
from mqserver.runtime.clock import Clock
from remoting.bodies.controller import ReplicaIdentity, ReplicasInfo
from remoting.codes import ResponseCode

LOG = logging.getLogger(__name__)

Rule = Callable[[GroupRecord | None], Ruling]


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """A ruling that has been carried out."""

    ruling: Ruling
    record: GroupRecord | None
    """The record as it is now."""

    @property
    def is_granted(self) -> bool:
        """Return whether the request was granted."""
        return self.ruling.code == ResponseCode.SUCCESS


class BrokerGroups:
    """All groups and their living brokers.

    Args:
        store: the store of the records.
        clock: its steady time is that of ``live``.
        on_new_master: called with the record of a group after a master was elected in it.
        on_old_epoch: called with the record and a living broker whose last heartbeat shows an
            older epoch than the master's.
        first_election_wait_ms: how long the first election of a group waits for more brokers.
        sleep: waits for a number of seconds of that clock.
    """

    def __init__(
        self,
        store: GroupStore,
        clock: Clock,
        *,
        on_new_master: Callable[[GroupRecord], None],
        on_old_epoch: Callable[[GroupRecord, LiveBroker], None],
        first_election_wait_ms: int,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.live = LiveBrokers()
        self._store = store
        self._clock = clock
        self._on_new_master = on_new_master
        self._on_old_epoch = on_old_epoch
        self._first_election_wait_ms = first_election_wait_ms
        self._sleep = sleep
        self._first_seen_ms: dict[str, int] = {}

    async def read(self, broker_name: str) -> GroupRecord | None:
        """Return the newest record of a group, or None.

        Raises:
            StoreUnavailable: the records cannot be read.
        """
        return (await self._store.read(broker_name)).record

    async def change(self, broker_name: str, rule: Rule) -> GroupOutcome:
        """Carry out a request on a group.

        Args:
            broker_name: the group.
            rule: judges the request by the newest record; it may be called several times.

        Raises:
            StoreUnavailable: the records cannot be read, or the outcome is not known.
        """
        while True:
            stored = await self._store.read(broker_name)
            ruling = rule(stored.record)
            if ruling.record is None and not ruling.removes:
                return GroupOutcome(ruling, stored.record)
            if await self._store.swap(broker_name, ruling.record, revision=stored.revision):
                self._changed(stored.record, ruling.record)
                return GroupOutcome(ruling, ruling.record)

    def _changed(self, before: GroupRecord | None, after: GroupRecord | None) -> None:
        if after is None:
            LOG.warning("group %s removed", before.broker_name if before is not None else "?")
            return
        old_epoch = 0 if before is None else before.master_epoch
        if after.master_id is not None and after.master_epoch > old_epoch:
            LOG.warning(
                "group %s: broker %d (%s) is the master of epoch %d",
                after.broker_name, after.master_id, after.master_address, after.master_epoch,
            )  # fmt: skip
            self._on_new_master(after)
        elif after.master_id is None and before is not None and before.master_id is not None:
            LOG.warning("group %s has no master now", after.broker_name)
        elif before is not None and before.in_sync_set != after.in_sync_set:
            LOG.info(
                "group %s: in-sync set %s of epoch %d",
                after.broker_name, sorted(after.in_sync_set), after.in_sync_set_epoch,
            )  # fmt: skip

    def alive(self, record: GroupRecord | None) -> dict[int, LiveBroker]:
        """Return the brokers of a group that are alive, by id."""
        if record is None:
            return {}
        return self.live.of_group(
            record.cluster_name,
            record.broker_name,
            record.replicas.keys(),
            self._clock.steady_ms(),
        )

    def describe(self, record: GroupRecord) -> ReplicasInfo:
        """Return a group for tools, with the last heartbeat of each broker."""
        now_ms, alive = self._clock.steady_ms(), self.alive(record)
        in_sync: list[ReplicaIdentity] = []
        others: list[ReplicaIdentity] = []
        for broker_id, replica in sorted(record.replicas.items()):
            key = BrokerKey(record.cluster_name, record.broker_name, broker_id)
            last = self.live.last_heartbeat(key)
            identity = ReplicaIdentity(
                broker_name=record.broker_name,
                broker_id=broker_id,
                broker_address=replica.address,
                alive=broker_id in alive,
                epoch=None if last is None else last.epoch,
                max_offset=None if last is None else last.max_offset,
                confirm_offset=None if last is None else last.confirm_offset,
                silent_ms=None if last is None else now_ms - last.heard_ms,
            )
            (in_sync if broker_id in record.in_sync_set else others).append(identity)
        return ReplicasInfo(
            master_broker_id=record.master_id,
            master_address=record.master_address,
            master_epoch=record.master_epoch,
            sync_state_set_epoch=record.in_sync_set_epoch,
            in_sync_replicas=in_sync,
            not_in_sync_replicas=others,
        )

    async def elect(
        self,
        broker_name: str,
        *,
        by_broker: int | None = None,
        designated: int | None = None,
        is_unclean: bool = False,
    ) -> GroupOutcome:
        """Elect a master of a group; the first election waits for more brokers.

        Raises:
            StoreUnavailable: the records cannot be read, or the outcome is not known.
        """
        if designated is None:
            await self._wait_for_first(broker_name)
        return await self.change(
            broker_name,
            lambda record: rule_elect(
                record,
                alive=self.alive(record),
                by_broker=by_broker,
                designated=designated,
                is_unclean=is_unclean,
            ),
        )

    async def _wait_for_first(self, broker_name: str) -> None:
        record = await self.read(broker_name)
        if record is None or record.master_epoch != 0:
            return
        now_ms = self._clock.steady_ms()
        due_ms = self._first_seen_ms.setdefault(broker_name, now_ms) + self._first_election_wait_ms
        if due_ms > now_ms:
            await self._sleep((due_ms - now_ms) / 1000)

    async def look_for_masters(self, may_be_dead: Callable[[GroupRecord], Awaitable[bool]]) -> None:
        """Elect masters of groups without a living one; called by the leading controller.

        Args:
            may_be_dead: whether a master from which no heartbeat has come yet may be considered
                dead.

        Raises:
            StoreUnavailable: the records cannot be read or written.
        """
        for record in await self._store.read_all():
            alive = self.alive(record)
            if record.master_id is not None:
                for broker in alive.values():
                    if broker.epoch < record.master_epoch:
                        self._on_old_epoch(record, broker)
            if record.master_id in alive or record.master_epoch == 0:
                continue
            if record.master_id is None and record.in_sync_set.isdisjoint(alive):
                continue
            if not await may_be_dead(record):
                continue
            outcome = await self.elect(record.broker_name)
            if not outcome.is_granted:
                LOG.error(
                    "group %s has no master: no broker of its in-sync set %s is alive; start one "
                    "of them, or see mqadmin controller elect --unclean --help",
                    record.broker_name, sorted(record.in_sync_set),
                )  # fmt: skip
