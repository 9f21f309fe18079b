"""What each request needs, by our rules and by those of 4.9.7."""

from pathlib import Path

import pytest

import mqserver.broker.handlers
from mqserver.broker.acl.accounts import AclError
from mqserver.broker.acl.rules import (
    ADMIN_WRITES,
    JAVA,
    OPEN_CODES,
    READS_LOG,
    STRICT,
    Level,
    rule_of,
)
from mqserver.runtime.registry import collect
from remoting.bodies import (
    BatchAck,
    BatchAckMessageRequestBody,
    CheckClientRequestBody,
    LockBatchRequestBody,
    MessageQueue,
    QueryAssignmentRequestBody,
    SubscriptionData,
    UnlockBatchRequestBody,
)
from remoting.codes import ExtensionCode, LaterCode, RequestCode
from tests.server.broker.acl.homes import ADMIN, ELSEWHERE, OTHER, control, signed, write_home
from tests.server.broker.desk import heartbeat

FIELDS = {
    "topic": "T",
    "b": "T",
    "a": "PG",
    "group": "G",
    "consumerGroup": "G",
    "producerGroup": "G",
}
OFFSETS = {"commitLogOffset": "7", "offset": "7"}
QUEUES = [MessageQueue(topic="T", broker_name="b", queue_id=0)]

BODIES = {
    RequestCode.HEART_BEAT: heartbeat(topics=("T", "%RETRY%G")),
    RequestCode.LOCK_BATCH_MQ: LockBatchRequestBody(
        consumer_group="G", client_id="c", mq_set=QUEUES
    ).encode(),
    RequestCode.UNLOCK_BATCH_MQ: UnlockBatchRequestBody(
        consumer_group="G", client_id="c", mq_set=QUEUES
    ).encode(),
    RequestCode.CHECK_CLIENT_CONFIG: CheckClientRequestBody(
        group="G", subscription_data=SubscriptionData(topic="T")
    ).encode(),
    LaterCode.BATCH_ACK_MESSAGE: BatchAckMessageRequestBody(
        acks=[BatchAck(consumer_group="G", topic="T")]
    ).encode(),
    LaterCode.QUERY_ASSIGNMENT: QueryAssignmentRequestBody(
        topic="T", consumer_group="G", client_id="c"
    ).encode(),
}


def passes(root: Path, code: int, by: str | None, *, strict: bool = True, **fields: str) -> bool:
    command = signed(code, by=by, body=BODIES.get(code, b""), **{**FIELDS, **OFFSETS, **fields})
    try:
        control(root, strict=strict).check(ELSEWHERE, command)
    except AclError:
        return False
    return True


CODES = {*RequestCode, *LaterCode, *ExtensionCode, 4711} - OPEN_CODES


@pytest.mark.parametrize("code", sorted(OPEN_CODES))
def test_epochs_and_notices_need_no_account(tmp_path: Path, code: int) -> None:
    assert passes(write_home(tmp_path), code, None)


@pytest.mark.parametrize("code", sorted(CODES))
def test_no_code_passes_without_a_key_or_for_who_has_no_right_to_it(
    tmp_path: Path, code: int
) -> None:
    root = write_home(tmp_path)

    assert not passes(root, code, None)
    assert not passes(root, code, OTHER)
    assert passes(root, code, ADMIN)


@pytest.mark.parametrize("code", sorted(STRICT))
def test_who_owns_topic_and_group_passes(tmp_path: Path, code: int) -> None:
    assert passes(write_home(tmp_path), code, "userKey1")


def test_what_writes_for_all_needs_an_admin_by_our_rules() -> None:
    assert {rule_of(code, strict=True).level for code in ADMIN_WRITES} == {Level.ADMIN}


def test_nothing_that_a_raw_handler_answers_needs_an_admin() -> None:
    assert not collect(mqserver.broker.handlers).raw.keys() & ADMIN_WRITES


@pytest.mark.parametrize(
    "code",
    [
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE_V2,
        RequestCode.END_TRANSACTION,
        RequestCode.VIEW_MESSAGE_BY_ID,
        RequestCode.CONSUMER_SEND_MSG_BACK,
        RequestCode.LOCK_BATCH_MQ,
        RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
        RequestCode.GET_BROKER_CONFIG,
    ],
)
def test_a_hole_of_java_is_open_by_its_rules_only(tmp_path: Path, code: int) -> None:
    # OTHER has a group of its own, so that 36 fails for the message alone.
    fields = {"group": "G2"} if code == RequestCode.CONSUMER_SEND_MSG_BACK else {}
    root = write_home(tmp_path)

    assert passes(root, code, OTHER, strict=False, **fields)
    assert not passes(root, code, OTHER, **fields)


def test_a_retry_topic_takes_from_its_own_group_only(tmp_path: Path) -> None:
    root = write_home(tmp_path)
    code = RequestCode.SEND_MESSAGE_V2

    assert passes(root, code, OTHER, strict=False, b="%RETRY%G", a="G2")
    assert not passes(root, code, OTHER, b="%RETRY%G", a="G2")
    assert passes(root, code, OTHER, b="%RETRY%G2", a="CLIENT_INNER_PRODUCER")


@pytest.mark.parametrize("separator", "_+")
def test_a_pop_retry_topic_belongs_to_its_group_and_its_topic(
    tmp_path: Path, separator: str
) -> None:
    root = write_home(tmp_path)
    topic = f"%RETRY%G{separator}T"

    for code in (LaterCode.ACK_MESSAGE, LaterCode.CHANGE_MESSAGE_INVISIBLETIME):
        assert passes(root, code, "userKey1", topic=topic)
        assert not passes(root, code, OTHER, topic=topic)
        assert not passes(root, code, OTHER, topic=topic, consumerGroup="G2")


def test_accounts_are_for_admins_by_any_rules(tmp_path: Path) -> None:
    root = write_home(tmp_path)
    codes = [50, 51, 53, 54]

    assert not any(passes(root, code, "userKey1", strict=False) for code in codes)
    assert all(passes(root, code, ADMIN, strict=False) for code in codes)


def test_java_checks_nine_codes_and_leaves_the_unknown_to_any_key() -> None:
    # 302 is none of Java 4.9's.
    checked = JAVA.keys() - {RequestCode.REGISTER_MESSAGE_FILTER_CLASS}
    assert sum(JAVA[code].level is Level.PERMS for code in checked) == 9
    assert rule_of(4711, strict=False).level is Level.KEY
    assert rule_of(4711, strict=True).level is Level.ADMIN


@pytest.mark.parametrize("text", ["", "x", "9" * 30])
def test_an_offset_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    assert not passes(
        write_home(tmp_path), RequestCode.END_TRANSACTION, "userKey1", commitLogOffset=text
    )


def test_a_message_that_is_not_there_is_left_to_the_handler(tmp_path: Path) -> None:
    command = signed(RequestCode.VIEW_MESSAGE_BY_ID, offset="7", by=OTHER)

    control(write_home(tmp_path), topic=None).check(ELSEWHERE, command)


def test_rules_that_look_at_a_message_are_known() -> None:
    for table in (STRICT, JAVA):
        looks = {code for code, rule in table.items() if "the message's topic" in rule.text}
        assert looks <= READS_LOG
    assert STRICT.keys() >= READS_LOG
