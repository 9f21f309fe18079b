"""What the tests of ``make soak`` do in their time."""

import math

import pytest

from tests import soak


def test_an_hour_is_shared_in_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "MINUTES", 30.0)

    assert soak.seconds(4) == 120


def test_without_time_one_case_is_tried_and_the_seed_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert len(list(soak.some(range(100), minutes=-1))) == 1
    assert capsys.readouterr().out == f"seed {soak.SEED}: 1 of 100 cases\n"


def test_a_seed_gives_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = []
    for seed in (1, 1, 2):
        monkeypatch.setattr(soak, "SEED", seed)
        orders.append(list(soak.some(range(100), minutes=math.inf)))

    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == list(range(100))


def test_processors_share_the_cases() -> None:
    cases = [(number, 2) for number in range(5)]

    assert sorted(soak.spread(pow, cases, minutes=math.inf)) == [0, 1, 4, 9, 16]
