"""Accounts as they are written, and what they may do."""

import pytest

from mqserver.broker.acl.accounts import AclError, Perm, account_of, check_perms, perm_of
from remoting.bodies import PlainAccessConfig


def config(**changes: object) -> PlainAccessConfig:
    values: dict[str, object] = {"access_key": "accessKey", "secret_key": "secretKey", **changes}
    return PlainAccessConfig(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PUB", Perm.PUB),
        (" SUB ", Perm.SUB),
        ("PUB|SUB", Perm.PUB | Perm.SUB),
        ("SUB|PUB", Perm.PUB | Perm.SUB),
        ("DENY", Perm.DENY),
        ("pub", Perm.DENY),
        ("", Perm.DENY),
        (None, Perm.DENY),
    ],
)
def test_what_is_no_permission_denies(text: str | None, expected: Perm) -> None:
    assert perm_of(text) == expected


def test_named_permissions_win_over_the_defaults() -> None:
    account = account_of(
        config(
            default_topic_perm="PUB|SUB",
            default_group_perm="SUB",
            topic_perms=["P=PUB", "D=DENY"],
            group_perms=["G=DENY"],
        )
    )

    assert not account.lacks("anything", Perm.SUB)
    assert not account.lacks("P", Perm.PUB)
    assert account.lacks("P", Perm.SUB)
    assert not account.lacks("P", Perm.ANY)
    assert account.lacks("D", Perm.ANY)
    assert account.lacks("%RETRY%G", Perm.SUB)
    assert not account.lacks("%RETRY%H", Perm.SUB)


def test_without_permissions_everything_is_denied() -> None:
    account = account_of(config())

    assert account.lacks("T", Perm.PUB)
    assert account.lacks("%RETRY%G", Perm.SUB)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"access_key": None}, "cannot be null and length should longer than 6"),
        ({"access_key": "sixsix"}, "The accessKey=sixsix and secretKey="),
        ({"secret_key": "sixsix"}, "length should longer than 6"),
        ({"topic_perms": ["T"]}, "Parse resource permission failed for topic:T"),
        ({"group_perms": ["G=SUB=PUB"]}, "Parse resource permission failed for group:G=SUB=PUB"),
        ({"white_remote_address": "10.0.0"}, "netaddress is 10.0.0"),
    ],
)
def test_what_cannot_be_an_account_is_refused_with_javas_text(changes, text: str) -> None:
    with pytest.raises(AclError) as refused:
        account_of(config(**changes))

    assert text in str(refused.value)
    assert "secretKey=secretKey" not in str(refused.value)


@pytest.mark.parametrize(
    ("resource", "text"),
    [
        ("T", "Parse Resource format error for T."),
        ("T=PUB=SUB", "Parse Resource format error for T=PUB=SUB."),
        ("T=ALL", "Parse resource permission error for T=ALL."),
    ],
)
def test_permissions_of_a_request_are_checked_more_strictly(resource: str, text: str) -> None:
    check_perms(["T=PUB", "U=DENY", "V=SUB|PUB"])
    with pytest.raises(AclError, match=text.replace("|", r"\|")):
        check_perms([resource])


def test_the_secret_is_in_no_text_of_an_account() -> None:
    assert "secretKey" not in repr(account_of(config(secret_key="verySecret1"))).replace(
        "secret_key", ""
    )
    assert "verySecret1" not in repr(account_of(config(secret_key="verySecret1")))
