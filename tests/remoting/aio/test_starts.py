"""Expensive work starts a few at a time, fairly among addresses."""

import asyncio
from functools import partial

from remoting.aio.starts import Pieces, Starts

COUNT, WAITING = 4, 1_024


async def test_a_turn_of_the_loop_starts_a_few() -> None:
    starts, begun = Starts(COUNT, waiting_max=WAITING), list[int]()

    for number in range(3 * COUNT):
        starts.add("a", partial(begun.append, number))
    at_once = len(begun)
    await asyncio.sleep(0)
    in_the_next_turn = len(begun)
    await asyncio.sleep(0)

    assert at_once == COUNT
    assert in_the_next_turn == 2 * COUNT
    assert begun == list(range(3 * COUNT))
    assert starts.waiting_count == 0


async def test_an_address_waits_for_one_start_of_another_that_has_many() -> None:
    starts, begun = Starts(COUNT, waiting_max=WAITING), list[str]()
    for number in range(100):
        starts.add("many", partial(begun.append, f"many {number}"))

    starts.add("one", partial(begun.append, "one"))
    await asyncio.sleep(0)

    assert begun.index("one") <= COUNT + 1
    assert starts.waiting_count == 101 - 2 * COUNT


async def test_a_quiet_moment_lets_the_next_ones_begin_at_once() -> None:
    starts, begun = Starts(COUNT, waiting_max=WAITING), list[int]()
    for number in range(COUNT):
        starts.add("a", partial(begun.append, number))
    await asyncio.sleep(0)

    starts.add("a", partial(begun.append, 99))

    assert begun[-1] == 99


async def test_an_address_has_a_limit_of_its_own() -> None:
    starts, begun = Starts(COUNT, waiting_max=WAITING), list[int]()

    taken = [starts.add("a", partial(begun.append, number)) for number in range(2_000)]

    assert taken.count(True) == taken.index(False) == COUNT + WAITING
    assert starts.add("b", partial(begun.append, 1))


async def test_a_start_that_raises_does_not_keep_those_that_wait() -> None:
    starts, begun = Starts(COUNT, waiting_max=WAITING), list[int]()
    errors = list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, about: errors.append(about))
    for number in range(COUNT):
        starts.add("a", partial(begun.append, number))

    starts.add("a", lambda: begun.append(1 // 0))
    starts.add("a", partial(begun.append, 99))
    for _ in range(3):
        await asyncio.sleep(0)

    assert begun[-1] == 99
    assert len(errors) == 1


async def test_pieces_of_work_go_on_a_few_in_a_turn_and_each_address_in_turn() -> None:
    pieces, done = Pieces(2), list[str]()

    async def work(ip: str, count: int) -> None:
        for _ in range(count):
            await pieces.turn(ip)
            done.append(ip)

    many = [asyncio.create_task(work("many", 10)) for _ in range(10)]
    await asyncio.sleep(0)
    in_the_first_turn = len(done)
    one = asyncio.create_task(work("one", 1))
    for _ in range(4):
        await asyncio.sleep(0)
    after_some_turns = len(done)
    many[0].cancel()
    await asyncio.gather(one, *many[1:])

    assert in_the_first_turn == 2
    assert after_some_turns <= 2 + 4 * 4
    assert "one" in done[:after_some_turns]
    assert len(done) >= 91
