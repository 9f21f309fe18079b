"""Timer messages on a broker that is killed again and again: none lost, early, or twice."""

import pytest

from tests.server.broker.timer.machine import FLUSH_MS, START_MS, STEP_MS, TICK_MS, Machine

RUN_MS = 12_000


pytestmark = pytest.mark.usefixtures("small_wheel")


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("power_cut", [False, True], ids=["kill", "power cut"])
def test_kills_lose_nothing_and_deliver_nothing_early_or_twice(
    *, sync: bool, power_cut: bool, seed: int
) -> None:
    # With a window of 3 slots, those that wait longer are stored again on their way.
    window = 3 if seed % 3 == 0 else 172_800
    machine = Machine(sync=sync, seed=seed, timer_roll_window_slot=window)
    number = 0
    kills: list[int] = []
    while machine.now_ms < START_MS + RUN_MS:
        machine.send(number, delay_ms=machine.chance.choice([1, 700, 1_000, 2_500, 9_000]))
        number += 1
        machine.step()
        if machine.chance.random() < 0.03:
            kills.append(machine.now_ms)
            machine.kill(power_cut=power_cut)
            machine.now_ms += machine.chance.choice([0, STEP_MS, 3_000])
            machine.start()
    machine.run(11_000)
    # What a power cut may lose with ASYNC_FLUSH is the last flush interval.
    loss_ms = FLUSH_MS if power_cut and not sync else -1
    found = machine.stored()
    for body, at_ms in machine.accepted.items():
        excused = any(at_ms <= kill_ms <= at_ms + loss_ms for kill_ms in kills)
        assert body in found or excused, (body, kills)
    assert [one for one in machine.delivered if one[1] < machine.due_ms[one[0]]] == []
    assert len(set(found)) == len(found)
    machine.kill()


def test_without_kills_each_is_at_most_one_tick_late() -> None:
    machine = Machine()
    for number in range(200):
        machine.send(number, delay_ms=machine.chance.randrange(1, 9_000))
        machine.step()
    machine.run(10_000)

    late = [at_ms - machine.due_ms[body] for body, at_ms in machine.delivered]
    assert len(late) == 200
    assert min(late) >= 0
    assert max(late) <= TICK_MS + STEP_MS
    machine.kill()
