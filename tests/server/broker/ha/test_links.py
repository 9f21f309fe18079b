"""What counts as an acknowledgement of a slave, and when the waiting messages are answered."""

import random
from functools import partial

import pytest

from mqserver.broker.config import BrokerConfig
from mqserver.broker.ha.frames import BadStream
from mqserver.broker.ha.links import Links, LinkState, SlaveLink
from remoting.codes import ResponseCode

END, LAST_FILE = 10_000, 8_192
CONFIG = BrokerConfig(ha_slave_fallbehind_max=1_000, slave_timeout_ms=3_000)


def report(link: SlaveLink, log_offset: int, *, log_min: int = 0, log_end: int = END) -> None:
    link.reported(log_offset, log_min=log_min, log_end=log_end, last_file=LAST_FILE)


def connected(*, at: int = 0) -> tuple[Links, SlaveLink]:
    links = Links(CONFIG)
    link = SlaveLink("10.0.0.1:5", now_ms=0)
    links.links.append(link)
    report(link, at)
    return links, link


@pytest.mark.parametrize(("first", "sent"), [(0, LAST_FILE), (1, 1), (END, END), (8_192, 8_192)])
def test_first_report_says_where_to_begin(first: int, sent: int) -> None:
    link = SlaveLink("a", now_ms=0)
    report(link, first)
    assert (link.state, link.sent_offset) == (LinkState.SENDING, sent)


@pytest.mark.parametrize("first", [END + 1, -1, 1 << 62])
def test_slave_that_has_more_than_the_master_is_refused(first: int) -> None:
    with pytest.raises(BadStream, match="of a log that has"):
        report(SlaveLink("a", now_ms=0), first)


def test_slave_whose_next_byte_was_deleted_is_told_to_begin_anew() -> None:
    with pytest.raises(BadStream, match="the log begins at 4096"):
        report(SlaveLink("a", now_ms=0), 100, log_min=4_096)


def test_only_what_was_sent_on_this_connection_is_acknowledged() -> None:
    links, link = connected(at=9_000)
    assert links.confirmed_offset == 0

    link.sent_offset = 9_500
    report(link, 9_000)
    assert links.confirmed_offset == 0
    report(link, 9_400)
    assert links.confirmed_offset == 9_400
    with pytest.raises(BadStream, match="but was sent 9500"):
        report(link, 9_501)
    with pytest.raises(BadStream, match="acknowledges 9300 after 9400"):
        report(link, 9_300)


def test_random_streams_acknowledge_nothing() -> None:
    rng = random.Random(7)
    for _ in range(100_000):
        link = SlaveLink("a", now_ms=0)
        with pytest.raises(BadStream):
            report(link, rng.randrange(END + 1, 1 << 63))
        assert link.confirmed_offset == 0


def test_who_waits_is_released_in_order_by_the_best_slave() -> None:
    links, link = connected(at=9_000)
    told: list[tuple[int, ResponseCode]] = []
    for offset in (9_100, 9_200, 9_300):
        tell = partial(lambda offset, how: told.append((offset, how)), offset)
        links.wait(offset, tell, begin=offset - 100, now_ms=0)
    link.sent_offset = 9_250

    report(link, 9_250)

    assert links.settle() == 2
    assert told == [(9_100, ResponseCode.SUCCESS), (9_200, ResponseCode.SUCCESS)]
    links.wait(9_150, lambda how: told.append((9_150, how)), begin=9_100, now_ms=0)
    assert told[-1] == (9_150, ResponseCode.SUCCESS)
    assert links.waiting_count == 1


def test_what_nobody_was_told_of_begins_with_the_oldest_message_that_waits() -> None:
    links, link = connected(at=9_000)
    assert links.answered_offset(9_050) == 9_050
    for begin, end in ((9_050, 9_100), (9_150, 9_200)):
        links.wait(end, lambda how: None, begin=begin, now_ms=begin)
    assert links.answered_offset(9_300) == 9_050
    link.sent_offset = 9_300
    report(link, 9_120)
    links.settle()
    assert links.answered_offset(9_300) == 9_150
    # Who was told that no slave has it in time has his answer, too.
    links.expire(9_150 + 3_000)
    assert links.answered_offset(9_300) == 9_300


def test_who_waits_too_long_is_told_so() -> None:
    links, _ = connected(at=9_000)
    told: list[ResponseCode] = []
    links.wait(9_100, told.append, begin=9_000, now_ms=100)
    assert links.expire(3_099) == 0
    assert links.expire(3_100) == 1
    assert told == [ResponseCode.FLUSH_SLAVE_TIMEOUT]


def test_nobody_waits_for_a_slave_that_is_not_there_or_far_behind() -> None:
    told: list[ResponseCode] = []
    Links(CONFIG).wait(5, told.append, begin=0, now_ms=0)
    links, _ = connected(at=9_000)
    links.wait(10_000, told.append, begin=9_000, now_ms=0)
    assert told == [ResponseCode.SLAVE_NOT_AVAILABLE, ResponseCode.SLAVE_NOT_AVAILABLE]
    links.wait(9_999, told.append, begin=9_000, now_ms=0)
    assert links.waiting_count == 1
    links.close()
    assert told[-1] is ResponseCode.FLUSH_SLAVE_TIMEOUT
