"""Changes of an assignment, and queues that never rest, on made-up time."""

from mqadmin.cluster.assignment_changes import WINDOW_MS, AssignmentEvent, AssignmentTracker
from remoting.bodies import MessageQueue

Q0, Q1 = (MessageQueue("T", "b", queue_id) for queue_id in range(2))


def told(
    changes: AssignmentTracker, at_ms: int, **owners: str
) -> list[tuple[AssignmentEvent, int | None, str | None]]:
    queues = {Q0: owners.get("q0"), Q1: owners.get("q1")}
    held = {queue: who for queue, who in queues.items() if who is not None}
    found = changes.look(at_ms, set(held.values()), owners=held)
    return [(one.what, one.queue.queue_id if one.queue else None, one.client_id) for one in found]


def test_the_first_look_tells_how_it_is() -> None:
    assert told(AssignmentTracker(), 0, q0="a", q1="b") == [
        (AssignmentEvent.JOINED, None, "a"),
        (AssignmentEvent.JOINED, None, "b"),
        (AssignmentEvent.TAKEN, 0, "a"),
        (AssignmentEvent.TAKEN, 1, "b"),
    ]


def test_only_what_changed_is_told() -> None:
    changes = AssignmentTracker()
    told(changes, 0, q0="a", q1="b")

    assert told(changes, 1000, q0="a", q1="b") == []
    assert told(changes, 2000, q0="a", q1="a") == [
        (AssignmentEvent.LEFT, None, None),
        (AssignmentEvent.MOVED, 1, "a"),
    ]
    assert told(changes, 3000, q0="a") == [(AssignmentEvent.RELEASED, 1, None)]


def test_three_changes_within_a_minute_are_flapping_and_told_once() -> None:
    changes = AssignmentTracker()
    told(changes, 0, q0="a")
    seen = [told(changes, at * 1000, q0="ab"[at % 2], q1="z") for at in range(1, 7)]

    flaps = [[one for one in look if one[0] is AssignmentEvent.FLAPPING] for look in seen]
    assert flaps == [[], [], [(AssignmentEvent.FLAPPING, 0, "b")], [], [], []]


def test_slow_changes_are_no_flapping() -> None:
    changes = AssignmentTracker()
    seen = [told(changes, at * WINDOW_MS, q0="ab"[at % 2]) for at in range(8)]

    assert AssignmentEvent.FLAPPING not in {what for look in seen for what, _, _ in look}


def test_a_queue_that_rested_may_be_told_again() -> None:
    changes = AssignmentTracker()
    told(changes, 0, q0="a")
    for at in (1, 2, 3):
        told(changes, at, q0="ab"[at % 2])
    told(changes, WINDOW_MS + 10, q0="b")
    seen = [told(changes, WINDOW_MS + at, q0="ab"[at % 2]) for at in (20, 21, 22, 24, 25)]

    assert sum(one[0] is AssignmentEvent.FLAPPING for look in seen for one in look) == 1
