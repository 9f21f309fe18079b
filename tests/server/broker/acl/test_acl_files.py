"""The account files: how they are found, read, replaced and watched."""

import os
import stat
from pathlib import Path

import pytest
import yaml

from mqserver.broker.acl.acl_files import AclFiles
from mqserver.runtime.jsonfile import Files
from storefmt.config.tables import DataVersion
from storefmt.errors import ConfigDamaged
from tests.server.broker.acl.homes import ADMIN, USER, write_home


def extra(root: Path, name: str, text: str) -> Path:
    path = root / "conf" / "acl" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def one(key: str, secret: str = "secretKey") -> str:
    return f"accounts:\n- {{accessKey: {key}, secretKey: {secret}}}\n"


def test_all_files_count_and_the_first_of_a_key_wins(tmp_path: Path) -> None:
    write_home(tmp_path, dataVersion=[{"counter": 3, "timestamp": 9}])
    extra(tmp_path, "b/deep.yaml", one("deepKey1"))
    first = extra(tmp_path, "a.yml", one(USER, "12345678"))
    extra(tmp_path, "not.txt", one("textKey1"))
    (tmp_path / "conf" / "tools.yml").write_text(one("toolsKey"))
    files = AclFiles(tmp_path)
    table = files.load()

    assert sorted(table.accounts) == sorted([USER, "otherKey", ADMIN, "deepKey1"])
    assert table.origins[USER] == first
    assert table.accounts[USER].secret_key == "12345678"
    assert table.versions[files.default] == DataVersion(9, 3)


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}"])
def test_an_empty_file_has_no_accounts(tmp_path: Path, text: str) -> None:
    write_home(tmp_path)
    (tmp_path / "conf" / "plain_acl.yml").write_text(text)

    assert AclFiles(tmp_path).load().accounts == {}


@pytest.mark.parametrize(
    "text",
    [
        "accounts: [",
        "- a\n- b",
        "accounts: 5",
        "accounts:\n- {accessKey: short, secretKey: hiddenSecret}",
        "accounts:\n- hiddenSecret",
        "globalWhiteRemoteAddresses: [hiddenSecret]",
        "!!python/object/apply:os.system [hiddenSecret]",
        "\tsecretKey: hiddenSecret",
        "a: " + "[" * 5_000,
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_not_quoted(tmp_path: Path, text: str) -> None:
    write_home(tmp_path)
    path = tmp_path / "conf" / "plain_acl.yml"
    path.write_text(text)
    with pytest.raises(ConfigDamaged) as damaged:
        AclFiles(tmp_path).load()

    assert str(path) in str(damaged.value)
    assert "hiddenSecret" not in str(damaged.value).replace("netaddress is hiddenSecret", "")


def test_a_written_file_has_the_next_version_and_is_for_its_owner_only(tmp_path: Path) -> None:
    write_home(tmp_path, dataVersion=[{"counter": 3, "timestamp": 9}])
    files = AclFiles(tmp_path)
    files.write(files.default, {**files.read(files.default), "mine": "kept ü"}, now_ms=77)

    content = yaml.safe_load(files.default.read_text())
    assert content["dataVersion"] == [{"counter": 4, "timestamp": 77}]
    assert content["mine"] == "kept ü"
    assert stat.S_IMODE(files.default.stat().st_mode) == 0o600
    assert files.load().versions[files.default] == DataVersion(77, 4)


def test_a_crash_between_the_renames_loses_no_account(tmp_path: Path) -> None:
    class Crash(Files):
        def rename(self, source: Path, target: Path) -> None:
            super().rename(source, target)
            raise OSError("crash")

    files = AclFiles(write_home(tmp_path), files=Crash())
    with pytest.raises(OSError):
        files.write(files.default, {}, now_ms=1)

    assert not files.default.exists()
    assert ADMIN in AclFiles(tmp_path).load().accounts


def test_the_stamp_follows_change_and_number_of_files(tmp_path: Path) -> None:
    files = AclFiles(write_home(tmp_path))
    stamps = [files.stamp()]
    extra(tmp_path, "a.yml", one("firstKey"))
    stamps.append(files.stamp())
    extra(tmp_path, "a.yml", one("longerKey"))
    stamps.append(files.stamp())

    assert len(set(stamps)) == 3
    assert files.stamp() == stamps[-1]


def test_only_regular_files_are_account_files(tmp_path: Path) -> None:
    folder = tmp_path / "conf" / "acl"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe.yml")
    (folder / "device.yml").symlink_to("/dev/zero")
    (folder / "folder.yml").mkdir()
    os.mkfifo(tmp_path / "conf" / "plain_acl.yml")
    files = AclFiles(tmp_path)

    assert files.paths() == []
    assert files.load().accounts == {}
