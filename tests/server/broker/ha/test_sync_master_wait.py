"""What the disk and a slave say of one message, in one answer."""

import pytest

from mqserver.broker.config import BrokerConfig
from mqserver.broker.ha.links import Links, SlaveLink
from mqserver.broker.ha.sync_master_wait import await_slaves, hold_done
from mqserver.broker.serving.answers import SendAnswers, with_code
from mqserver.broker.serving.group_commit import Ack
from remoting.codes import ResponseCode
from remoting.frame import FrameReader, decode_frame

ANSWERS = SendAnswers(region="R", trace_on=True, store_host=b"\x7f\0\0\x01\0\0\x2a\x9f")
STORED = ANSWERS.stored(0, 1, queue_id=0, queue_offset=0, message_id="x")
REFUSED = ANSWERS.refused(0, 1, code=ResponseCode.SERVICE_NOT_AVAILABLE, remark="disk")
LATE = with_code(STORED, ResponseCode.FLUSH_DISK_TIMEOUT)
BEGIN, END = 1_000, 2_000
CONFIG = BrokerConfig(ha_slave_fallbehind_max=10_000, slave_timeout_ms=3_000)


class Client:
    """Takes what is sent to it."""

    def __init__(self) -> None:
        self.codes: list[int] = []

    def send(self, frame: bytes) -> None:
        (raw,) = FrameReader().feed(frame)
        self.codes.append(decode_frame(raw).code)


def waiting(links: Links) -> tuple[Client, Ack]:
    client = Client()
    (held,) = await_slaves(links, [(client, STORED, 1, 0)], begin=BEGIN, log_end=END, now_ms=0)
    return client, held


def with_slave() -> tuple[Links, SlaveLink]:
    links, link = Links(CONFIG), SlaveLink("s", now_ms=0)
    links.links.append(link)
    link.reported(BEGIN, log_min=0, log_end=END, last_file=0)
    link.sent_offset = END
    return links, link


ANSWERED = {
    "both have it": (STORED, True, 0),
    "the disk is late": (LATE, True, 10),
    "the slave is late": (STORED, False, 12),
    "both are late: what is said of the slave wins": (LATE, False, 12),
    "not stored here, whatever the slave has": (REFUSED, True, 14),
    "not stored anywhere": (REFUSED, False, 14),
}


@pytest.mark.parametrize("disk_first", [True, False])
@pytest.mark.parametrize(("disk", "slave_has_it", "code"), ANSWERED.values(), ids=ANSWERED.keys())
def test_answer_waits_for_disk_and_slave_and_says_what_java_would(
    disk: bytes, slave_has_it: bool, code: int, *, disk_first: bool
) -> None:
    links, link = with_slave()
    client, (sink, _, _, _) = waiting(links)

    def slave_says() -> None:
        if slave_has_it:
            link.reported(END, log_min=0, log_end=END, last_file=0)
            links.settle()
        else:
            links.expire(3_000)

    steps = [lambda: sink.send(disk), slave_says]
    for step in steps if disk_first else reversed(steps):
        assert client.codes == []
        step()
    assert client.codes == [code]


def test_without_a_slave_the_disk_is_waited_for_alone() -> None:
    client, (sink, _, _, _) = waiting(Links(CONFIG))
    assert client.codes == []
    sink.send(STORED)
    assert client.codes == [11]


@pytest.mark.parametrize("disk_first", [True, False])
@pytest.mark.parametrize(
    ("disk", "slave_has_it", "code"),
    [(0, True, 0), (0, False, 12), (10, True, 10), (14, False, 14)],
    ids=["both have it", "the slave is late", "the disk is late", "not stored"],
)
def test_a_callback_waits_for_disk_and_slave(
    disk: int, slave_has_it: bool, code: int, *, disk_first: bool
) -> None:
    links, link = with_slave()
    codes: list[int] = []
    (held,) = hold_done(links, [codes.append], begin=BEGIN, log_end=END, now_ms=0)

    def slave_says() -> None:
        if slave_has_it:
            link.reported(END, log_min=0, log_end=END, last_file=0)
            links.settle()
        else:
            links.expire(3_000)

    if disk_first:
        held(ResponseCode(disk))
        slave_says()
    else:
        slave_says()
        held(ResponseCode(disk))

    assert codes == [code]


def test_one_callback_that_fails_does_not_keep_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    links, link = with_slave()
    codes: list[int] = []

    def broken(code: ResponseCode) -> None:
        raise RuntimeError("broken")

    for done in hold_done(links, [broken, codes.append], begin=BEGIN, log_end=END, now_ms=0):
        done(ResponseCode.SUCCESS)
    link.reported(END, log_min=0, log_end=END, last_file=0)
    links.settle()

    assert codes == [0]
    assert "a callback that waited for a slave" in caplog.text
