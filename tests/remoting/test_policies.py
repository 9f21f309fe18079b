"""ACL 2.0 decides as 5.4.0 does; ``tests/interop/test_auth_five.py`` compares it with a broker."""

import pytest

from remoting.bodies import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from remoting.policies import Pattern, decide, is_in_range, parse_resource, subject_of

ALICE = UserInfo(username="alice", user_type="Normal", user_status="enable")


def rule(text: str) -> PolicyEntryInfo:
    """Return a rule of ``Allow Pub,Sub Topic:orders 10.0.0.1,10.1.0.0/16``."""
    decision, actions, resource, *addresses = text.split()
    return PolicyEntryInfo(
        decision=decision,
        actions=actions.split(","),
        resource=resource,
        source_ips=addresses[0].split(",") if addresses else None,
    )


def acl(*rules: str, default: tuple[str, ...] = ()) -> AclInfo:
    policies = [
        PolicyInfo(policy_type=name, entries=[rule(text) for text in texts])
        for name, texts in (("Custom", rules), ("Default", default))
        if texts
    ]
    return AclInfo(subject="User:alice", policies=policies)


@pytest.mark.parametrize(
    ("rules", "decides", "is_allowed"),
    [
        ([], None, False),
        (["Allow Sub Topic:orders"], None, False),
        (["Allow Pub Group:orders"], None, False),
        (["Allow Pub Topic:orders"], "Topic:orders", True),
        (["Allow pub topic:orders"], "topic:orders", True),
        (["Allow All Topic:orders"], "Topic:orders", True),
        (["Deny All *", "Allow Pub Topic:*"], "Topic:*", True),
        (["Allow All Topic:*", "Deny Pub Topic:ord*"], "Topic:ord*", False),
        (["Deny Pub Topic:o*", "Allow Pub Topic:ord*"], "Topic:ord*", True),
        (["Deny Pub Topic:orders*", "Allow Pub Topic:orders"], "Topic:orders", True),
        (["Allow Pub Topic:orders", "Deny All Topic:orders"], "Topic:orders", False),
        (["Deny Sub Topic:orders", "Allow All *"], "*", True),
        (["Allow Pub Topic:orders 10.0.0.1"], None, False),
        (["Allow Pub Topic:orders 10.0.0.2,10.1.0.0/16"], None, False),
        (["Deny Pub Topic:orders 10.0.0.1", "Allow Pub Topic:*"], "Topic:*", True),
        (["Allow Pub Topic:orders 127.0.0.0/8"], "Topic:orders", True),
    ],
)
def test_the_narrowest_rule_that_matches_decides(
    rules: list[str], decides: str | None, is_allowed: bool
) -> None:
    verdict = decide(
        ALICE,
        acl(*rules),
        actions=("Pub",),
        resource=parse_resource("Topic:orders"),
        source_ip="127.0.0.1",
    )

    assert (verdict.is_allowed, verdict.rule and verdict.rule.resource) == (is_allowed, decides)


def test_a_default_rule_counts_where_no_custom_rule_matches() -> None:
    rules = acl("Allow Pub Topic:bills", default=("Deny Pub Topic:bills", "Allow Pub Topic:*"))

    verdicts = [
        decide(ALICE, rules, actions=("Pub",), resource=parse_resource(topic))
        for topic in ("Topic:bills", "Topic:orders")
    ]

    assert [one.policy_type for one in verdicts] == ["Custom", "Default"]
    assert all(one.is_allowed for one in verdicts)


@pytest.mark.parametrize(
    ("user", "is_allowed", "reason"),
    [
        (None, False, "no such user"),
        (UserInfo(username="a", user_type="Super", user_status="enable"), True, "a Super user"),
        (UserInfo(username="a", user_type="Super", user_status="disable"), False, "disabled"),
        (UserInfo(username="a", user_type="Normal"), False, "no rule matches"),
    ],
)
def test_without_a_rule_the_user_decides(
    user: UserInfo | None, is_allowed: bool, reason: str
) -> None:
    verdict = decide(user, None, actions=("Get",), resource=parse_resource("Cluster:c"))

    assert (verdict.is_allowed, reason in verdict.reason) == (is_allowed, True)


def test_any_action_is_met_by_every_rule_with_actions() -> None:
    rules = acl("Allow Sub Topic:orders")
    rules.policies[0].entries.append(PolicyEntryInfo(resource="Topic:bills", decision="Allow"))

    verdicts = [
        decide(ALICE, rules, actions=("Any",), resource=parse_resource(topic))
        for topic in ("Topic:orders", "Topic:bills")
    ]

    assert [verdict.is_allowed for verdict in verdicts] == [True, False]


@pytest.mark.parametrize(
    ("text", "pattern", "key"),
    [
        ("*", Pattern.EVERYTHING, "*"),
        ("Any:x", Pattern.EVERYTHING, "*"),
        ("topic:orders", Pattern.LITERAL, "Topic:orders"),
        ("Group:*", Pattern.WHOLE_TYPE, "Group:*"),
        ("Group:b*l*", Pattern.PREFIXED, "Group:b*"),
        ("Cluster:", Pattern.LITERAL, "Cluster:"),
    ],
)
def test_a_resource_is_read_and_written(text: str, pattern: Pattern, key: str) -> None:
    resource = parse_resource(text)

    assert (resource.pattern, resource.key) == (pattern, key)


@pytest.mark.parametrize("text", ["", "orders", "Queue:orders", "**"])
def test_what_is_not_a_resource_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a resource"):
        parse_resource(text)


@pytest.mark.parametrize(
    ("address", "network", "expected"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("10.0.0.1", "10.0.0.0/30", True),
        ("10.0.0.4", "10.0.0.1/30", False),
        ("10.0.0.1", "0.0.0.0/0", True),
        ("::1", "::/64", True),
        ("fe80::1", "::/64", False),
    ],
)
def test_an_address_is_in_a_network(address: str, network: str, expected: bool) -> None:
    assert is_in_range(address, network) is expected


def test_a_subject_is_a_user_name_with_its_type() -> None:
    assert [subject_of(text) for text in ("alice", "user:alice", "a:b")] == [
        *("User:alice", "User:alice", "User:a:b"),
    ]
