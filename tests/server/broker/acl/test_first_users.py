"""The users with which a broker starts: stored ones, those of its settings, migrated accounts."""

from pathlib import Path

import pytest

from mqserver.broker.acl.first_users import codes_in, first_users, inner_keys, migrate
from mqserver.broker.acl.users import Users
from mqserver.broker.config import BrokerConfig
from remoting.bodies import PlainAccessConfig
from storefmt.errors import ConfigDamaged
from storefmt.paths import StorePaths
from tests.server.broker.acl.homes import write_home
from tests.server.broker.desk import broker_settings

ROOT = '{"username":"root","password":"rootPw"}'
INNER = '{"accessKey":"inner","secretKey":"innerPw"}'


def settings(root: Path, **changes: object) -> BrokerConfig:
    return broker_settings(root, authentication_enabled=True, **changes)


def test_settings_add_users_that_are_not_there(tmp_path: Path) -> None:
    config = settings(
        tmp_path, init_authentication_user=ROOT, inner_client_authentication_credentials=INNER
    )
    users = first_users(config)
    path = StorePaths(tmp_path).config_file("authUsers.json")
    path.parent.mkdir()
    path.write_text(users.encode().replace("rootPw", "changed"))

    again = first_users(config)

    assert [
        (user.username, user.password, user.user_type, user.user_status)
        for user in again.list_users(None)
    ] == [
        ("inner", "innerPw", "Super", "enable"),
        ("root", "changed", "Super", "enable"),
    ]
    assert inner_keys(config.inner_client_authentication_credentials) == ("inner", "innerPw")


def test_another_password_of_the_inner_user_is_named_without_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first_users(
        settings(
            tmp_path,
            init_authentication_user=ROOT,
            inner_client_authentication_credentials='{"accessKey":"root","secretKey":"other"}',
        )
    )
    first_users(settings(tmp_path))

    first, second = (record.getMessage() for record in caplog.records)
    assert "the user root, who has a different password" in first
    assert "there is no Super user" in second
    assert "rootPw" not in caplog.text


@pytest.mark.parametrize(
    "text", ["{secretWord", "[secretWord]", '{"username":"secretWord"}', '{"username":1}']
)
def test_a_setting_that_cannot_be_read_is_not_quoted(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigDamaged) as caught:
        first_users(settings(tmp_path, init_authentication_user=text))

    assert "initAuthenticationUser cannot be read" in str(caught.value)
    assert text not in str(caught.value)


def test_accounts_of_4_9_become_users(tmp_path: Path) -> None:
    home = write_home(tmp_path / "home")
    users = first_users(
        settings(tmp_path / "store", migrate_auth_from_v1_enabled=True, rocketmq_home=home)
    )

    assert [(user.username, user.user_type) for user in users.list_users(None)] == [
        ("adminKey", "Super"), ("otherKey", "Normal"), ("userKey1", "Normal"),
    ]  # fmt: skip
    (policy,) = users.acls["User:userKey1"].policies or ()
    assert [(each.resource, each.actions, each.decision) for each in policy.entries or ()] == [
        ("Topic:T", ["Pub", "Sub"], "Allow"),
        ("Topic:P", ["Pub"], "Allow"),
        ("Topic:S", ["Sub"], "Allow"),
        ("Topic:D", ["All"], "Deny"),
        ("Group:G", ["Sub"], "Allow"),
    ]


def test_default_permissions_become_default_rules(caplog: pytest.LogCaptureFixture) -> None:
    users = Users()
    accounts = [
        PlainAccessConfig(access_key="one", secret_key="s1", default_topic_perm="DENY"),
        PlainAccessConfig(access_key="two", secret_key="s2", default_group_perm="PUB|SUB"),
        PlainAccessConfig(access_key="odd", secret_key="s3", topic_perms=["T=EVERYTHING"]),
    ]

    migrate(accounts, users)
    migrate(accounts, users)

    shown = {
        subject: [
            (policy.policy_type, each.resource, each.decision)
            for policy in acl.policies or ()
            for each in policy.entries or ()
        ]
        for subject, acl in users.acls.items()
    }
    assert shown == {
        "User:one": [("Default", "Topic:*", "Deny")],
        "User:two": [("Default", "Group:*", "Allow")],
    }
    assert "the account odd of plain_acl.yml was not migrated" in caplog.text
    assert "odd" in users.users


def test_white_lists_of_codes_are_joined_by_commas() -> None:
    assert codes_in(" 10, 310,,11 ") == {"10", "310", "11"}
