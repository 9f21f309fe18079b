"""TLS handshakes begin a few at a time, fairly among addresses."""

import asyncio
from functools import partial

from remoting.aio.handshakes import COUNT_A_TURN, WAITING_MAX, Handshakes


async def test_a_turn_of_the_loop_begins_a_few() -> None:
    handshakes, begun = Handshakes(), list[int]()

    for number in range(3 * COUNT_A_TURN):
        handshakes.add("a", partial(begun.append, number))
    at_once = len(begun)
    await asyncio.sleep(0)
    in_the_next_turn = len(begun)
    await asyncio.sleep(0)

    assert (at_once, in_the_next_turn) == (COUNT_A_TURN, 2 * COUNT_A_TURN)
    assert begun == list(range(3 * COUNT_A_TURN))
    assert handshakes.waiting_count == 0


async def test_an_address_waits_for_one_handshake_of_another_that_has_many() -> None:
    handshakes, begun = Handshakes(), list[str]()
    for number in range(100):
        handshakes.add("many", partial(begun.append, f"many {number}"))

    handshakes.add("one", partial(begun.append, "one"))
    await asyncio.sleep(0)

    assert begun.index("one") <= COUNT_A_TURN + 1
    assert handshakes.waiting_count == 101 - 2 * COUNT_A_TURN


async def test_a_quiet_moment_lets_the_next_ones_begin_at_once() -> None:
    handshakes, begun = Handshakes(), list[int]()
    for number in range(COUNT_A_TURN):
        handshakes.add("a", partial(begun.append, number))
    await asyncio.sleep(0)

    handshakes.add("a", partial(begun.append, 99))

    assert begun[-1] == 99


async def test_an_address_has_a_limit_of_its_own() -> None:
    handshakes, begun = Handshakes(), list[int]()

    taken = [handshakes.add("a", partial(begun.append, number)) for number in range(2_000)]

    assert taken.count(True) == taken.index(False) == COUNT_A_TURN + WAITING_MAX
    assert handshakes.add("b", partial(begun.append, 1))
