"""Create or change a topic on brokers, honestly: read, compare, write, read back.

    settings now --(what is named)--> settings wanted --write--> settings read back
                                                                   = wanted: changed

Rule: nothing is written where nothing would change or where ``--dry-run`` is given; a row
says what each broker has afterwards, and what it had before.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.places import Place, masters
from mqadmin.rows import CHANGED, NOT_FOUND, REFUSED, UNCHANGED, WOULD_CHANGE, Row
from mqadmin.topics import perm_text
from mqclient.errors import ClientError, NoRoute
from storefmt.configs import TopicConfig

if TYPE_CHECKING:
    from mqclient.admin_topic import TopicCalls

QUEUES_DEFAULT: Final = 8
"""As in Java's updateTopic; a broker's own default is 16."""
QUEUES_MAX: Final = 65_536
SETTINGS: Final = (
    "read_queue_nums",
    "write_queue_nums",
    "perm",
    "topic_filter_type",
    "topic_sys_flag",
    "order",
)
"""What the request sets; a broker of 5.x answers with more."""
ROUTE_WAIT_S, ROUTE_STEP_S = 3.0, 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The settings that are named; None leaves one as it is."""

    topic: str
    read_queues: int | None = None
    write_queues: int | None = None
    perm: int | None = None
    order: bool | None = None
    replace: bool = False

    def over(self, old: TopicConfig | None) -> TopicConfig:
        """Return the settings that a topic with ``old`` ones should have."""
        base = old
        if base is None or self.replace:
            base = TopicConfig(self.topic, QUEUES_DEFAULT, QUEUES_DEFAULT)
        return replace(
            base,
            read_queue_nums=_or(self.read_queues, base.read_queue_nums),
            write_queue_nums=_or(self.write_queues, base.write_queue_nums),
            perm=_or(self.perm, base.perm),
            order=base.order if self.order is None else self.order,
        )


@dataclass(frozen=True, slots=True)
class TopicChange(Row):
    """A topic on one broker after the call; ``was`` has the old values of what differs."""

    topic: str
    broker: str
    address: str
    read_queues: int | None
    write_queues: int | None
    perm: str | None
    order: bool | None
    was: dict[str, object]
    result: str
    remark: str | None


async def change_topic(
    call: Call,
    wanted: Wanted,
    *,
    cluster: str | None,
    broker: str | None,
    update: bool,
    create: bool,
) -> list[TopicChange]:
    """Bring a topic to the wanted settings on each broker and return a row for each.

    Args:
        update: change a topic that is there with other settings; else that is refused.
        create: make a topic that is not there; else it is not found.

    Raises:
        Usage: a number of queues is out of range.
        NotFound: there is no such cluster or broker.
    """
    for count in (wanted.read_queues, wanted.write_queues):
        if count is not None and not 1 <= count <= QUEUES_MAX:
            raise Usage(f"{count} queues: expected 1 to {QUEUES_MAX}")
    admin = await call.topics()
    places = await masters(admin, cluster=cluster, broker=broker)
    rows = [
        await _change_there(call, admin, wanted, place, update=update, create=create)
        for place in places
    ]
    if any(row.result == CHANGED for row in rows):
        await _wait_for_route(admin, wanted.topic)
    return rows


async def _change_there(
    call: Call, admin: "TopicCalls", wanted: Wanted, place: Place, *, update: bool, create: bool
) -> TopicChange:
    old = (await admin.topic_configs(place.address)).topics.get(wanted.topic)
    new = wanted.over(old)
    was = _difference(old, new)
    if old is None and not create:
        return _row(place, wanted.topic, None, {}, NOT_FOUND)
    if old is not None and not was:
        return _row(place, wanted.topic, old, {}, UNCHANGED)
    if old is not None and not update:
        return _row(place, wanted.topic, old, was, REFUSED, "it is there with other settings")
    if call.dry_run:
        return _row(place, wanted.topic, new, was, WOULD_CHANGE)
    try:
        await admin.create_topic(place.address, new)
    except ClientError as error:
        if error.exit_code != 1:
            raise
        return _row(place, wanted.topic, old, was, REFUSED, str(error))
    read_back = (await admin.topic_configs(place.address)).topics.get(wanted.topic)
    done = read_back is not None and not _difference(read_back, new)
    remark = None if done else "the broker took it, but has other settings"
    return _row(place, wanted.topic, read_back, was, CHANGED if done else REFUSED, remark)


async def _wait_for_route(admin: "TopicCalls", topic: str) -> None:
    """Wait until the name server knows the topic: the next command may use it."""
    for _ in range(int(ROUTE_WAIT_S / ROUTE_STEP_S)):
        try:
            await admin.topic_route(topic)
        except NoRoute:
            await asyncio.sleep(ROUTE_STEP_S)
        else:
            return


def _difference(old: TopicConfig | None, new: TopicConfig) -> dict[str, object]:
    """Return the old values of the settings that differ."""
    if old is None:
        return {}
    return {
        name: getattr(old, name) for name in SETTINGS if getattr(old, name) != getattr(new, name)
    }


def _row(
    place: Place,
    topic: str,
    config: TopicConfig | None,
    was: dict[str, object],
    result: str,
    remark: str | None = None,
) -> TopicChange:
    return TopicChange(
        topic=topic,
        broker=place.broker,
        address=place.address,
        read_queues=config.read_queue_nums if config else None,
        write_queues=config.write_queue_nums if config else None,
        perm=perm_text(config.perm) if config else None,
        order=config.order if config else None,
        was=was,
        result=result,
        remark=remark,
    )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value
