"""Pictures of assignments, drawn and counted without a server."""

from mqadmin.cluster.assignment_picture import count_moved, evenness, picture
from mqclient.consumer.consumer_settings import Strategy
from mqclient.consumer.rebalance.allocate import plan
from remoting.bodies import MessageQueue

QUEUES = [MessageQueue("T", "broker-a", queue_id) for queue_id in range(8)]


def owners_of(members: list[str], queues: list[MessageQueue] = QUEUES) -> dict[MessageQueue, str]:
    parts = plan(Strategy.AVG, "g", queues=queues, client_ids=members)
    return {queue: member for member, part in parts.items() for queue in part}


def test_a_third_member_takes_from_both() -> None:
    before, after = owners_of(["app-1", "app-2"]), owners_of(["app-1", "app-2", "app-3"])

    lines = picture(
        "then (AVG)",
        QUEUES,
        members=["app-1", "app-2", "app-3"],
        owners=after,
        before=before,
        width=80,
    )

    assert lines == [
        "then (AVG): 3 members read 8 of 8 queues, 2 to 3 each; 3 move",
        "         broker-a",
        "         0 1 2 3 4 5 6 7",
        "  app-1  ■ ■ ■ · · · · ·  3",
        "  app-2  · · · + ■ ■ · ·  3",
        "  app-3  · · · · · · + +  2",
    ]
    assert count_moved(QUEUES, before=before, owners=after) == 3


def test_what_does_not_fit_goes_on_below() -> None:
    lines = picture("now", QUEUES, members=["a"], owners=owners_of(["a"]), width=20)

    assert lines[1:] == [
        "     broker-a",
        "     0 1 2 3 4",
        "  a  ■ ■ ■ ■ ■  8",
        "     broker-a",
        "     5 6 7",
        "  a  ■ ■ ■  8",
    ]


def test_a_name_that_does_not_fit_the_line_is_cut() -> None:
    lines = picture("now", QUEUES[:2], members=["a"], owners=owners_of(["a"], QUEUES[:2]), width=12)

    assert lines[1] == "     broke…"


def test_queues_that_nobody_reads_have_a_row() -> None:
    lines = picture("now", QUEUES[:2], members=["a"], owners={QUEUES[0]: "a"}, width=80)

    assert lines[0] == "now: 1 member reads 1 of 2 queues, 1 each"
    assert lines[-1].split() == ["(nobody)", "·", "■", "1"]


def test_brokers_stand_above_their_queues() -> None:
    queues = [MessageQueue("T", name, q) for name in ("long-name", "b-long") for q in range(10, 12)]

    lines = picture("now", queues, members=["m"], owners=owners_of(["m"], queues), width=80)

    assert lines[1] == "     long-name b-long"
    assert lines[2] == "     10 11     10 11"
    assert lines[3] == "  m   ■  ■      ■  ■  4"


def test_wide_and_long_names_are_cut_to_their_cells() -> None:
    name = "消费者" * 20
    lines = picture("now", QUEUES[:1], members=[name], owners={QUEUES[0]: name}, width=80)

    assert "…" in lines[-1]


def test_evenness_in_words() -> None:
    members = ["a", "b", "c"]
    assert evenness(QUEUES[:2], members, owners=owners_of(members, QUEUES[:2])) == (
        "3 members read 2 of 2 queues, 0 to 1 each, 1 idle"
    )
    assert evenness([], [], owners={}) == "0 members read 0 of 0 queues"
    one = {QUEUES[0]: "a"}
    assert evenness(QUEUES[:1], ["a"], owners=one, before={}).endswith("1 each; 1 moves")
