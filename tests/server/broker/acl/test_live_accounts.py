"""Account files that change while a server runs: when a change counts."""

import logging
from pathlib import Path

import pytest

from mqserver.broker.acl.acl_files import AclFiles, AclTable
from mqserver.broker.acl.live_accounts import LiveAccounts
from tests.server.broker.acl.homes import ACCOUNTS, ADMIN, SECRETS, USER, write_home


def _file(home: Path) -> Path:
    return home / "conf" / "plain_acl.yml"


def test_a_file_that_an_editor_empties_first_locks_nobody_out(tmp_path: Path) -> None:
    accounts = LiveAccounts(AclFiles(write_home(tmp_path)))
    text = _file(tmp_path).read_text()

    _file(tmp_path).write_text("")
    accounts.reload(1)
    _file(tmp_path).write_text(text.replace(SECRETS[USER], "anotherSecret"))
    accounts.reload(2)

    assert accounts.secret_of(USER) == SECRETS[USER]
    accounts.reload(3)
    assert accounts.secret_of(USER) == "anotherSecret"


class _ChangedWhileRead(AclFiles):
    """Account files of which one is written again just after it was read."""

    is_writing = False

    def load(self) -> AclTable:
        table = super().load()
        if self.is_writing:
            self.default.write_text(self.default.read_text() + "\n")
        return table


def test_a_file_that_changes_while_it_is_read_does_not_count(tmp_path: Path) -> None:
    files = _ChangedWhileRead(write_home(tmp_path))
    accounts = LiveAccounts(files)
    write_home(tmp_path, accounts=ACCOUNTS[1:])
    accounts.reload(1)
    files.is_writing = True

    accounts.reload(2)

    assert accounts.secret_of(USER) == SECRETS[USER]
    files.is_writing = False
    accounts.reload(3)
    accounts.reload(4)
    assert accounts.secret_of(USER) is None


def test_a_damaged_file_is_named_once_and_the_accounts_stay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    accounts = LiveAccounts(AclFiles(write_home(tmp_path)))
    caplog.set_level(logging.ERROR)

    _file(tmp_path).write_text(f"accounts: [{{secretKey: {SECRETS[USER]}")
    for now_ms in range(5):
        accounts.reload(now_ms)

    assert accounts.secret_of(ADMIN) == SECRETS[ADMIN]
    assert len(caplog.records) == 1
    assert "the accounts stay as they were" in caplog.text
    assert SECRETS[USER] not in caplog.text


def test_a_file_that_is_gone_takes_its_accounts_along(tmp_path: Path) -> None:
    accounts = LiveAccounts(AclFiles(write_home(tmp_path)))

    _file(tmp_path).unlink()
    accounts.reload(1)
    accounts.reload(2)

    assert accounts.secret_of(USER) is None
