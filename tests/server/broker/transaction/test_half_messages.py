"""Half messages: the bytes of a real broker's records."""

import pytest

from mqserver.broker.transaction.half_messages import (
    check_request,
    check_times,
    commit_message,
    copy_half_message,
    count_check,
    discard_message,
    first_offset,
    is_discarded,
    is_half_message,
    is_prepared,
    keep_first_offset,
    op_half_offset,
    op_message,
    prepare,
    resume_message,
)
from mqserver.store.results import PutMessage, PutResult, PutStatus
from storefmt.formats.hosts import pack_host
from storefmt.formats.message import Record, decode_record
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden
from tests.records import encoded

HOST = pack_host("127.0.0.1", 21911)


class Story:
    """The records of the golden store's transactions, by what they are."""

    def __init__(self, golden: Golden) -> None:
        store = StoreDir.open(golden.store("kinds"))
        self.records = [item for item in store.records() if isinstance(item, Record)]
        self.halves = self.of("RMQ_SYS_TRANS_HALF_TOPIC")

    def of(self, topic: str) -> list[Record]:
        return [record for record in self.records if record.topic == topic]

    def half(self, key: str, *, times: int = 0) -> Record:
        """Return the half message with this key after so many checks."""
        return next(
            half
            for half in self.halves
            if half.keys == [key] and check_times(half.properties) == times
        )


@pytest.fixture(scope="module")
def story(golden: Golden) -> Story:
    return Story(golden)


def as_record(message: PutMessage, like: Record) -> bytes:
    """Return a put message as the record at the place of ``like``."""
    return encoded(
        like,
        topic=message.topic_bytes,
        queue_id=message.queue_id,
        flag=message.flag,
        sys_flag=message.sys_flag,
        born_ms=message.born_ms,
        born_host=message.born_host,
        store_host=message.store_host,
        reconsume_times=message.reconsume_times,
        prepared_transaction_offset=message.prepared_transaction_offset,
        body=message.body,
        body_crc=None,
        properties=message.properties,
    )


def test_prepared_message_is_the_real_half_record(story: Story) -> None:
    half = story.half("commit-3")
    sent = dict(half.properties)
    topic, queue_id = sent.pop("REAL_TOPIC"), int(sent.pop("REAL_QID"))
    message = PutMessage(
        topic=topic,
        topic_bytes=topic.encode(),
        queue_id=queue_id,
        body=half.body,
        properties=b"",
        sys_flag=4,
        born_ms=half.born_ms,
        born_host=half.born_host,
        store_host=half.store_host,
        tags_code=half.tags_code,
    )

    prepare(message, sent)

    assert is_prepared(sent)
    assert as_record(message, half) == encoded(half)


def test_committed_messages_are_the_real_ones(story: Story) -> None:
    by_log_offset = {half.log_offset: half for half in story.halves}
    real = story.of("kd-trans")

    made = [
        as_record(commit_message(by_log_offset[record.prepared_transaction_offset]), record)
        for record in real
    ]

    assert len(real) >= 8
    assert made == [encoded(record) for record in real]


def test_op_messages_are_the_real_ones(story: Story) -> None:
    by_queue_offset = {half.queue_offset: half for half in story.halves}
    real = story.of("RMQ_SYS_TRANS_OP_HALF_TOPIC")

    for op in real:
        decided_half = op_half_offset(op)
        assert decided_half is not None
        half = by_queue_offset[decided_half]
        assert as_record(op_message(half, store_host=HOST, now_ms=op.born_ms), op) == encoded(op)


def test_copies_of_checks_are_the_real_ones(story: Story) -> None:
    for key, times in (("later-0", 0), ("never-0", 0), ("never-0", 1), ("never-1", 2)):
        half, copy = story.half(key, times=times), story.half(key, times=times + 1)

        made = copy_half_message(half, count_check(half.properties), store_host=HOST)

        assert as_record(made, copy) == encoded(copy)
        assert is_half_message(copy)


def test_given_up_message_is_the_real_one(story: Story) -> None:
    half = story.half("never-1", times=3)
    real = next(end for end in story.of("TRANS_CHECK_MAX_TIME_TOPIC") if end.keys == half.keys)

    made = discard_message(half, half.properties)

    assert as_record(made, real) == encoded(real)
    assert is_discarded(real)
    assert not is_half_message(real)


def test_resumed_message_is_unchecked_again(story: Story) -> None:
    half = story.half("never-1", times=3)

    back = decode_record(as_record(resume_message(half), half))

    assert is_half_message(back)
    assert back.properties == {**half.properties, "TRANSACTION_CHECK_TIMES": "0"}


def test_question_shows_the_message_under_its_real_topic(story: Story) -> None:
    half, copy = story.half("later-1"), story.half("later-1", times=1)
    put = PutResult(PutStatus.PUT_OK, copy.queue_offset, copy.log_offset, copy.size)

    command = check_request(half, copy.properties, put, host=HOST)

    shown = decode_record(command.body)
    assert (shown.topic, shown.queue_id) == ("kd-trans", 1)
    assert (shown.body, shown.properties) == (copy.body, copy.properties)
    assert (shown.queue_offset, shown.log_offset) == (copy.queue_offset, copy.log_offset)
    assert command.is_oneway
    ext = command.ext
    assert ext["offsetMsgId"] == copy.msg_id
    assert ext["msgId"] == ext["transactionId"] == copy.unique_key


def test_spared_copy_keeps_the_first_offset() -> None:
    first = keep_first_offset({"A": "b"}, queue_offset=7)
    second = keep_first_offset(first, queue_offset=9)

    assert first == second
    assert (first_offset({}, 9), first_offset(second, 9)) == (9, 7)
    assert first_offset({"TRAN_PREPARED_QUEUE_OFFSET": "x"}, 9) == 9


@pytest.mark.parametrize(("text", "times"), [("0", 0), ("12", 12), ("-1", -1), ("x", -1), ("", -1)])
def test_check_times_of_a_text(text: str, times: int) -> None:
    assert check_times({"TRANSACTION_CHECK_TIMES": text}) == times
