"""Signatures and rules of ACL 2.0, as the access control of one broker checks them."""

import pytest

from mqserver.broker.acl.accounts import AclError, Perm, UserRefused
from mqserver.broker.acl.scope import Scopes
from mqserver.broker.acl.user_access import FAILED, UserAccess, UserSettings
from mqserver.broker.acl.users import Users
from remoting.acl import Proof, content_of, sign, signature_of
from remoting.bodies import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from remoting.codes import ExtensionCode, LaterCode, RequestCode
from remoting.command import Command
from remoting.signing import sign_for

IP, NOW_MS, RECEIVER = "10.9.8.7", 1_795_368_000_000, "10.9.8.1:10911"
PASSWORDS = {"alice": "alicePw", "root": "rootPw", "off": "offPw"}


def access(*rules: str, **settings: object) -> UserAccess:
    """Return an access control with alice's rules, such as ``Allow Pub Topic:T 10.0.0.0/8``."""
    users = Users()
    users.create_user(UserInfo(username="alice", password="alicePw"))
    users.create_user(UserInfo(username="root", password="rootPw", user_type="Super"))
    users.create_user(UserInfo(username="off", password="offPw", user_status="disable"))
    entries = []
    for rule in rules:
        decision, actions, resource, *addresses = rule.split()
        entries.append(
            PolicyEntryInfo(
                resource=resource,
                actions=actions.split(","),
                decision=decision,
                source_ips=addresses or None,
            )
        )
    if entries:
        users.create_acl("User:alice", AclInfo(policies=[PolicyInfo(entries=entries)]))
    values: dict[str, object] = {"checks_rules": True, **settings}
    return UserAccess(
        users,
        UserSettings("C", **values),  # type: ignore[arg-type]
        topic_at=lambda log_offset: "T",
        scopes=Scopes(lambda: {RECEIVER}, lambda: NOW_MS),
    )


def request(code: int = 310, *, by: str | None = "alice", body: bytes = b"", **ext: str) -> Command:
    command = Command.request(code, body=body)
    command.ext.update({"b": "T", "topic": "T", "consumerGroup": "G", **ext})
    if by is not None:
        sign(command, by, PASSWORDS.get(by, "x"))
    return command


def refusal(control: UserAccess, command: Command, *, ip: str = IP) -> str | None:
    try:
        control.check(ip, command)
    except AclError as error:
        return error.remark
    return None


def test_a_signature_is_checked_before_any_rule() -> None:
    control = access("Allow All *")
    forged, unproved = request(), request()
    forged.ext["b"] = "T2"
    del unproved.ext["Signature"]

    assert [
        refusal(control, command)
        for command in (
            request(), request(by=None), request(by="nobody"), request(by="off"), forged, unproved,
        )
    ] == [
        None,
        "username cannot be null.",
        "User:nobody is not found.",
        "User:off is disabled.",
        "check signature failed.",
        "check signature failed.",
    ]  # fmt: skip


def test_a_signature_is_checked_before_the_body_is_decoded() -> None:
    control = access()
    broken = request(RequestCode.HEART_BEAT, by=None, body=b"{" * 10)
    signed = request(RequestCode.HEART_BEAT, body=b"not json")

    assert refusal(control, broken) == "username cannot be null."
    assert refusal(control, signed) == "parse authorization context error."


def test_a_signature_of_ours_counts_for_its_code_and_server_only() -> None:
    control = access()
    command = request(ExtensionCode.DEMOTE_MASTER, by=None)
    sign_for(command, "root", "rootPw", receiver=RECEIVER, now_ms=NOW_MS)
    moved = Command.request(ExtensionCode.PROMOTE_SLAVE)
    moved.ext.update(command.ext)

    assert refusal(control, command) is None
    assert "is for request code=10004" in (refusal(control, moved) or "")


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ((), "no matched policies."),
        (("Allow Sub Topic:T",), "no matched policies."),
        (("Allow All *", "Deny Pub Topic:T"), "the decision is deny."),
        (("Allow Pub Topic:T 127.0.0.1",), "no matched policies."),
        (("Allow Pub Topic:T 10.9.0.0/16",), None),
        (("Deny All *", "Allow Pub Topic:*"), None),
    ],
)
def test_a_refusal_says_who_what_and_from_where(rules: tuple[str, ...], text: str | None) -> None:
    begin = f"User:alice has no permission to access Topic:T from {IP}, "

    assert refusal(access(*rules), request()) == (None if text is None else begin + text)


def test_a_super_user_may_do_everything_and_without_authorization_everybody_may() -> None:
    for code in (310, RequestCode.UPDATE_BROKER_CONFIG, LaterCode.AUTH_CREATE_USER):
        assert refusal(access(), request(code, by="root")) is None
        assert refusal(access(checks_rules=False), request(code)) is None
        assert refusal(access(), request(code)) is not None


@pytest.mark.parametrize(
    ("strict", "signer", "text"),
    [
        (True, None, FAILED),
        (True, "root", "check signature failed."),
        (False, None, FAILED),
        (False, "root", None),
    ],
)
def test_only_5_4_0_believes_the_name_in_an_unsigned_request(
    strict: bool, signer: str | None, text: str | None
) -> None:
    control = access(strict=strict, unsigned_codes={"310"})
    command = request(by=None, **({"AccessKey": signer} if signer else {}))

    assert refusal(control, command) == text


def test_codes_on_both_white_lists_are_open() -> None:
    control = access(unsigned_codes={"310"}, open_codes={"310"})

    assert refusal(control, request(by=None)) is None
    assert refusal(control, request(11, by=None)) == "username cannot be null."
    assert refusal(access(open_codes={"310"}), request()) is None


def test_the_short_way_allows_what_check_allows_until_something_changes() -> None:
    control = access("Allow Pub Topic:T", "Allow Sub Topic:S", "Allow Sub Group:G")

    def proof(name: str = "alice", password: str = "alicePw", **ext: str) -> Proof:
        content = content_of(ext, b"")
        return Proof(name, signature_of(content, password).encode(), content)

    def sends() -> list[bool]:
        return [
            control.allows_send(IP, 310, "T", proof(b="T")),
            control.allows_send(IP, 310, "T", proof(b="T", i="INNER_MULTI_DISPATCH\x01x")),
            control.allows_send(IP, 310, "T2", proof(b="T2")),
            control.allows_send(IP, 310, "T", proof(password="wrong", b="T")),
            control.allows_send(IP, 310, "T", proof("off", "offPw", b="T")),
            control.allows_pull(IP, 11, "S", "G", proof(topic="S")),
            control.allows_pull(IP, 11, "S", "G2", proof(topic="S")),
        ]

    before = sends()
    control.users.update_user(UserInfo(username="alice", user_status="disable"))
    control.changed()

    assert before == [True, False, False, False, False, True, False]
    assert sends() == [False] * 7


def test_producers_are_asked_about_topics_that_they_may_send_to() -> None:
    control = access("Allow Pub Topic:T", "Allow Sub Group:G")

    control.require(IP, "alice", ("T", Perm.PUB))
    control.require(IP, "alice", ("%RETRY%G", Perm.SUB))
    access(strict=False).require(IP, "nobody", ("T2", Perm.PUB))
    for name, topic in (("alice", "T2"), ("nobody", "T"), ("off", "T"), (None, "T")):
        with pytest.raises(UserRefused):
            control.require(IP, name, (topic, Perm.PUB))


def test_passwords_are_given_to_those_who_check_signatures_only() -> None:
    control = access()

    assert [control.secret_of(name) for name in ("alice", "off", "nobody")] == [
        "alicePw", None, None,
    ]  # fmt: skip
    assert [control.admin_secret_of(name) for name in ("alice", "root")] == [None, "rootPw"]
