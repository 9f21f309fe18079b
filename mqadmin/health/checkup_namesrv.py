"""Compare name servers: they do not talk to each other, so they may differ.

    broker-a registers at  A and B        each is asked for its brokers and routes
    broker-b registers at  A only    -->  half of the clients do not find its queues

Rule: pure; the first name server that answers is compared with each other one.
Their clocks cannot be compared: no request of 4.9 asks a name server for its time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mqadmin.cluster.brokers import ServerNode
from mqadmin.health.checkup import Check, CheckupFinding, CheckupSeverity
from remoting.bodies import TopicRouteData
from storefmt.names import perm_text

Queues = tuple[int, int, int]
"""Read queues, write queues, permission."""


@dataclass(frozen=True, slots=True)
class NamesrvView:
    """The answer of one name server, or why there is none.

    Attributes:
        routes: queues by broker of each topic.
    """

    address: str
    brokers: frozenset[ServerNode] = frozenset()
    routes: Mapping[str, Mapping[str, Queues]] = field(default_factory=dict)
    error: str | None = None


def queues_of(route: TopicRouteData) -> dict[str, Queues]:
    """Return the queues of a route by broker."""
    return {
        data.broker_name: (data.read_queue_nums, data.write_queue_nums, data.perm)
        for data in route.queue_datas
    }


def namesrv_findings(views: Sequence[NamesrvView]) -> Iterator[CheckupFinding]:
    """Yield the name servers that do not answer, and the differences between the others."""
    for view in views:
        if view.error is not None:
            subject, hint = f"name server {view.address}", "check that it is running"
            yield CheckupFinding(CheckupSeverity.ERROR, Check.NAMESRV, subject, view.error, hint)
    answering = [view for view in views if view.error is None]
    for place in sorted(frozenset().union(*(view.brokers for view in answering))):
        yield from _registered(place, answering)
    for other in answering[1:]:
        yield from _routes(answering[0], other)


def _registered(place: ServerNode, views: Sequence[NamesrvView]) -> Iterator[CheckupFinding]:
    missing = [view.address for view in views if place not in view.brokers]
    if missing:
        there = ", ".join(view.address for view in views if place in view.brokers)
        subject = f"{place.broker} ({place.broker_id}) at {place.address}"
        observed = f"registered at {there}, but not at {', '.join(missing)}"
        hint = "check that its namesrvAddr lists them all and that it can reach them"
        yield CheckupFinding(CheckupSeverity.ERROR, Check.NAMESRV, subject, observed, hint)


def _routes(first: NamesrvView, second: NamesrvView) -> Iterator[CheckupFinding]:
    # A missing broker is a finding already; its queues would say the same again.
    both = {place.broker for place in first.brokers} & {place.broker for place in second.brokers}
    hint = "wait for the next registration (30 s), then use `topic delete` or `write-perm` there"
    for topic in sorted({*first.routes, *second.routes}):
        here, there = (view.routes.get(topic, {}) for view in (first, second))
        for broker in sorted(both & {*here, *there}):
            if here.get(broker) != there.get(broker):
                observed = (
                    f"{first.address} has {_text(here.get(broker))}, {second.address} has "
                    f"{_text(there.get(broker))}"
                )
                subject = f"topic {topic} on {broker}"
                yield CheckupFinding(
                    CheckupSeverity.WARNING, Check.NAMESRV, subject, observed, hint
                )


def _text(queues: Queues | None) -> str:
    if queues is None:
        return "nothing"
    read, write, perm = queues
    return f"{read} read and {write} write queues, {perm_text(perm)}"
