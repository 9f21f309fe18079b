"""Name servers compared, on made-up facts."""

from mqadmin.cluster.brokers import Place
from mqadmin.health.checkup_namesrv import NamesrvView, of_namesrvs, queues_of
from remoting.bodies import QueueData, TopicRouteData

A, B = (Place("c", f"broker-{name}", 0, f"10.0.0.{name}:10911") for name in "ab")
BOTH = frozenset({A, B})


def told(*views: NamesrvView) -> list[tuple[str, str, str]]:
    return [(one.severity.value, one.subject, one.found) for one in of_namesrvs(views)]


def test_name_servers_that_tell_the_same_are_no_finding() -> None:
    routes = {"T": {"broker-a": (4, 4, 6)}}

    assert told(NamesrvView("n1", BOTH, routes), NamesrvView("n2", BOTH, routes)) == []


def test_a_broker_that_is_registered_at_only_some() -> None:
    routes = {"T": {"broker-a": (4, 4, 6), "broker-b": (4, 4, 6)}}
    less = {"T": {"broker-a": (4, 4, 6)}}
    three = (
        NamesrvView("n1", BOTH, routes),
        NamesrvView("n2", frozenset({A}), less),
        NamesrvView("n3", BOTH, routes),
    )

    assert told(*three) == [
        ("error", "broker-b (0) at 10.0.0.b:10911", "registered at n1, n3, not at n2")
    ]


def test_routes_that_differ() -> None:
    one = NamesrvView("n1", BOTH, {"T": {"broker-a": (4, 4, 6)}, "U": {"broker-a": (1, 1, 6)}})
    other = NamesrvView("n2", BOTH, {"T": {"broker-a": (4, 2, 4)}})

    assert told(one, other) == [
        (
            "warning",
            "topic T on broker-a",
            "n1 says 4 read and 4 write queues, RW-, n2 4 read and 2 write queues, R--",
        ),
        ("warning", "topic U on broker-a", "n1 says 1 read and 1 write queues, RW-, n2 nothing"),
    ]


def test_a_name_server_that_does_not_answer() -> None:
    silent = NamesrvView("n2", error="cannot connect")

    assert told(NamesrvView("n1", BOTH), silent) == [("error", "name server n2", "cannot connect")]
    assert told(silent) == [("error", "name server n2", "cannot connect")]


def test_queues_of_a_route() -> None:
    data = QueueData(broker_name="broker-a", read_queue_nums=4, write_queue_nums=2, perm=6)

    assert queues_of(TopicRouteData(queue_datas=[data])) == {"broker-a": (4, 2, 6)}
