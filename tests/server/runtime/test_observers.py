"""Observers are called in order and with the arguments of the event."""

import pytest

from mqserver.runtime.observers import Observers


def test_all_are_told_in_the_order_in_which_they_were_added() -> None:
    seen: list[tuple[str, int]] = []
    happened = Observers[[int]]()

    happened(1)
    happened.add(lambda number: seen.append(("first", number)))
    happened.add(lambda number: seen.append(("second", number)))
    happened(2)

    assert seen == [("first", 2), ("second", 2)]


def test_an_error_reaches_whoever_tells() -> None:
    def fail() -> None:
        raise OSError("broken")

    happened = Observers[[]]()
    happened.add(fail)

    with pytest.raises(OSError, match="broken"):
        happened()
