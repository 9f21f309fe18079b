"""Limits of connections: in all, of one address, and of those that are told no."""

from remoting.aio.admission import CROWD_MAX, Admission, Verdict


def test_places_are_given_back_and_taken_again() -> None:
    doors = Admission(connections_max=2)

    found = [doors.enter("a"), doors.enter("b"), doors.enter("c")]
    doors.leave("c", Verdict.BUSY)
    doors.leave("a", Verdict.IN)
    found += [doors.enter("c"), doors.enter("d")]

    assert found == [Verdict.IN, Verdict.IN, Verdict.BUSY, Verdict.IN, Verdict.BUSY]


def test_one_address_does_not_take_the_places_of_others() -> None:
    doors = Admission(connections_max=100, per_address_max=2)

    found = [doors.enter(ip) for ip in ("a", "a", "a", "b")]

    assert found == [Verdict.IN, Verdict.IN, Verdict.BUSY, Verdict.IN]


def test_crowd_takes_no_places_and_its_rest_stays_out() -> None:
    doors = Admission(connections_max=1)
    doors.enter("a")

    crowd = [doors.enter("b") for _ in range(CROWD_MAX + 1)]
    doors.leave("a", Verdict.IN)

    assert crowd == [Verdict.BUSY] * CROWD_MAX + [Verdict.OUT]
    assert doors.enter("c") is Verdict.IN


def test_who_may_not_connect_stays_out_and_is_not_counted() -> None:
    doors = Admission(connections_max=1, may_connect=lambda ip: ip == "a")

    assert [doors.enter("b"), doors.enter("a")] == [Verdict.OUT, Verdict.IN]
