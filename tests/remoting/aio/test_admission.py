"""Limits of connections: in all, of one address, and of those that are told no."""

from remoting.aio.admission import CROWD_MAX, Admission, AdmissionResult


def test_places_are_given_back_and_taken_again() -> None:
    doors = Admission(connections_max=2)

    found = [doors.enter("a"), doors.enter("b"), doors.enter("c")]
    doors.leave("c", AdmissionResult.BUSY)
    doors.leave("a", AdmissionResult.IN)
    found += [doors.enter("c"), doors.enter("d")]

    assert found == [
        AdmissionResult.IN,
        AdmissionResult.IN,
        AdmissionResult.BUSY,
        AdmissionResult.IN,
        AdmissionResult.BUSY,
    ]


def test_one_address_does_not_take_the_places_of_others() -> None:
    doors = Admission(connections_max=100, per_address_max=2)

    found = [doors.enter(ip) for ip in ("a", "a", "a", "b")]

    assert found == [
        AdmissionResult.IN,
        AdmissionResult.IN,
        AdmissionResult.BUSY,
        AdmissionResult.IN,
    ]


def test_crowd_takes_no_places_and_its_rest_stays_out() -> None:
    doors = Admission(connections_max=1)
    doors.enter("a")

    crowd = [doors.enter("b") for _ in range(CROWD_MAX + 1)]
    doors.leave("a", AdmissionResult.IN)

    assert crowd == [AdmissionResult.BUSY] * CROWD_MAX + [AdmissionResult.OUT]
    assert doors.enter("c") is AdmissionResult.IN


def test_who_may_not_connect_stays_out_and_is_not_counted() -> None:
    doors = Admission(connections_max=1, may_connect=lambda ip: ip == "a")

    assert [doors.enter("b"), doors.enter("a")] == [AdmissionResult.OUT, AdmissionResult.IN]
