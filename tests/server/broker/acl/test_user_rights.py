"""Which action on which resource a request needs, by the rules of 5.4.0 and by ours."""

from collections.abc import Mapping

import pytest

from mqserver.broker.acl.user_rights import JAVA, needs_of
from remoting.codes import ExtensionCode, LaterCode, RequestCode
from remoting.command import Command
from tests.server.broker.acl.test_every_code import BODIES, FIELDS

G, G_TOPIC = "Group:G", "%RETRY%G"
CLUSTER_UPDATE = ["Update Cluster:C"]


def needs(code: int, ext: Mapping[str, str], *, strict: bool, body: bytes | None = None) -> list:
    command = Command.request(code, body=BODIES.get(code, b"x") if body is None else body)
    command.ext.update(ext)
    found = needs_of(command, cluster="C", strict=strict, topic_at=lambda log_offset: "real")
    return [f"{','.join(need.actions)} {need.resource.key}" for need in found]


@pytest.mark.parametrize(
    ("code", "ext", "java"),
    [
        (10, {"topic": "T"}, ["Pub Topic:T"]),
        (310, {"b": "T"}, ["Pub Topic:T"]),
        (320, {"b": G_TOPIC}, ["Sub Group:G"]),
        (310, {"b": "%DLQ%G"}, ["Pub Topic:%DLQ%G"]),
        (11, {"topic": "T", "consumerGroup": "G"}, ["Sub Topic:T", "Sub Group:G"]),
        (11, {"topic": G_TOPIC, "consumerGroup": "G"}, ["Sub Group:G"]),
        (12, {"topic": G_TOPIC}, ["Sub,Get Topic:%RETRY%G"]),
        (14, {"topic": "T", "consumerGroup": "G"}, ["Sub,Get Topic:T", "Sub,Get Group:G"]),
        (15, {"topic": G_TOPIC, "consumerGroup": "G"}, ["Sub,Update Group:G"]),
        (17, {"topic": "T"}, ["Create Topic:T"]),
        (34, {}, ["Sub Group:G", "Sub Topic:T"]),
        (35, {"producerGroup": "P"}, []),
        (36, {"group": "G", "offset": "0"}, ["Sub Group:G"]),
        (37, {"commitLogOffset": "0"}, []),
        (41, {}, ["Sub Group:G", "Sub Topic:T"]),
        (202, {"topic": G_TOPIC}, ["Get Group:G"]),
        (207, {"groupName": "G"}, ["Delete Group:G"]),
        (
            208,
            {"consumerGroup": "G", "topicList": "a;b;"},
            ["Get Group:G", "Get Topic:a", "Get Topic:b"],
        ),
        (215, {"topic": "T"}, ["Delete Topic:T"]),
        (222, {"topic": "T", "group": "G"}, ["Update Group:G", "Update Topic:T"]),
        (25, {}, []),
        (200, {}, []),
        (3001, {}, CLUSTER_UPDATE),
        (3010, {}, ["Get Cluster:C"]),
        (200_050, {"topic": "T", "consumerGroup": "G"}, ["Sub Group:G", "Sub Topic:T"]),
    ],
)
def test_what_5_4_0_checks_is_checked_under_both_rules(
    code: int, ext: dict[str, str], java: list[str]
) -> None:
    assert needs(code, ext, strict=False) == java
    assert needs(code, ext, strict=True)[: len(java)] == java


@pytest.mark.parametrize(
    ("code", "ext", "more"),
    [
        (RequestCode.UPDATE_BROKER_CONFIG, {}, CLUSTER_UPDATE),
        (RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, CLUSTER_UPDATE),
        (RequestCode.GET_BROKER_CONFIG, {}, ["Get Cluster:C"]),
        (RequestCode.GET_ALL_TOPIC_CONFIG, {}, ["Get Cluster:C"]),
        (ExtensionCode.PROMOTE_SLAVE, {}, CLUSTER_UPDATE),
        (RequestCode.DELETE_TOPIC_IN_BROKER, {}, CLUSTER_UPDATE),
        (RequestCode.END_TRANSACTION, {"commitLogOffset": "0"}, ["Pub Topic:real"]),
        (RequestCode.VIEW_MESSAGE_BY_ID, {"offset": "0"}, ["Sub,Get Topic:real"]),
        (RequestCode.CONSUMER_SEND_MSG_BACK, {"offset": "0"}, ["Sub Topic:real"]),
        (
            RequestCode.SEND_MESSAGE_V2,
            {"i": "INNER_MULTI_DISPATCH\x01Q1,%RETRY%G"},
            ["Pub Topic:Q1", "Sub Group:G"],
        ),
        (RequestCode.SEND_REPLY_MESSAGE_V2, {"b": "T"}, ["Pub Topic:T"]),
        (
            LaterCode.LITE_PULL_MESSAGE,
            {"topic": "T", "consumerGroup": "G"},
            ["Sub Topic:T", "Sub Group:G"],
        ),
        (LaterCode.QUERY_ASSIGNMENT, {}, ["Sub Topic:T", "Sub Group:G"]),
        (LaterCode.BATCH_ACK_MESSAGE, {}, ["Sub Topic:T", "Sub Group:G"]),
        (RequestCode.CHECK_CLIENT_CONFIG, {}, ["Sub Group:G", "Sub Topic:T"]),
        (
            RequestCode.CONSUME_MESSAGE_DIRECTLY,
            {"consumerGroup": "G"},
            ["Sub Group:G", *CLUSTER_UPDATE],
        ),
    ],
)
def test_strict_rules_check_what_5_4_0_lets_every_user_do(
    code: int, ext: dict[str, str], more: list[str]
) -> None:
    assert needs(code, ext, strict=True) == more
    assert len(needs(code, ext, strict=False)) < len(more)


def test_under_strict_rules_only_clients_of_nothing_need_nothing() -> None:
    codes = {int(code) for kind in (RequestCode, LaterCode, ExtensionCode) for code in kind}

    free = {code for code in codes if not needs(code, FIELDS, strict=True)}

    assert free == set()


def test_the_printed_words_name_every_field_that_is_read() -> None:
    for code, rights in JAVA.items():
        assert rights.text, code
