"""Accounts of a real broker, by the real mqadmin and by ours: the facts agree."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.servers import Broker, JavaSide, Namesrv, guarded_broker
from tests.interop.kit.toolbox import Toolbox
from tests.interop.parityfacts import Row, our_rows
from tests.interop.test_acl import ACCOUNTS, ADMIN, SECRETS

Java = Callable[..., str]
Ours = Callable[..., list[Row]]
ACCOUNT = "-s paritySecret -t T1=PUB|SUB,T2=DENY -g G1=SUB -i SUB -u PUB -w 10.0.0.1 -m false"
FIELDS = {
    "accessKey": "access_key",
    "whiteRemoteAddress": "white_remote_address",
    "admin": "admin",
    "defaultTopicPerm": "default_topic_perm",
    "defaultGroupPerm": "default_group_perm",
    "topicPerms": "topic_perms",
    "groupPerms": "group_perms",
}


@pytest.fixture(scope="module")
def broker(
    java_side: JavaSide, java_namesrv: Namesrv, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """Yield a real broker with accounts, which the real mqadmin has the keys of."""
    tools = java_side.directory / "conf" / "tools.yml"
    tools.write_text(f"accessKey: {ADMIN}\nsecretKey: {SECRETS[ADMIN]}\n")
    namesrv, store = java_namesrv.address, tmp_path_factory.mktemp("acl") / "store"
    with guarded_broker(java_side, ACCOUNTS, name="parity", namesrv=namesrv, store=store) as broker:
        yield broker
    tools.unlink()


@pytest.fixture
def java(toolbox: Toolbox, broker: Broker, java_namesrv: Namesrv) -> Java:
    """Return a function that runs a command of the real mqadmin at the broker."""

    def told(name: str, *words: str) -> str:
        where = ("-b", broker.address, "-n", java_namesrv.address)
        return toolbox.mqadmin(name, *words, *where).stdout

    return told


@pytest.fixture
def ours(broker: Broker, java_namesrv: Namesrv, tmp_path: Path) -> Ours:
    """Return a function that runs ours, signed by the same key."""
    # Java's --accessKey of updateAclConfig is the account's, and so hides our --access-key.
    keys = {"MQADMIN_ACCESS_KEY": ADMIN, "MQADMIN_SECRET_KEY": SECRETS[ADMIN]}

    def rows(name: str, *words: str) -> list[Row]:
        where = ("-b", broker.address)
        return our_rows(java_namesrv.address, tmp_path, name, *words, *where, **keys)

    return rows


def accounts(text: str) -> dict[str, dict[str, str]]:
    """Read what Java prints of accounts, without secrets."""
    found: dict[str, dict[str, str]] = {}
    for name, value in re.findall(r"^  (\w+) *: ?(.*)$", text, re.MULTILINE):
        if name == "accessKey":
            found[value] = {}
        if name in FIELDS:
            found[list(found)[-1]][name] = value.strip()
    return found


def our_accounts(rows: list[Row]) -> dict[str, dict[str, str]]:
    """Read the same of our rows."""
    return {
        row["access_key"]: {name: text_of(row[ours]) for name, ours in FIELDS.items()}
        for row in rows
    }


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(value)}]" if value else ""
    return str(value or "")


def test_accounts_are_the_same(java: Java, ours: Ours) -> None:
    assert accounts(java("getAclConfig")) == our_accounts(ours("getAclConfig"))


def test_an_account_is_made_and_taken_away_alike(java: Java, ours: Ours) -> None:
    made = java("updateAclConfig", "-a", "parityJava", *ACCOUNT.split())
    ours("updateAclConfig", "-a", "parityOurs", *ACCOUNT.split())
    seen = accounts(java("getAclConfig"))
    java("deleteAclConfig", "-a", "parityJava")
    ours("deleteAclConfig", "-a", "parityOurs")
    left = accounts(java("getAclConfig"))

    assert "success" in made
    assert {**seen["parityJava"], "accessKey": ""} == {**seen["parityOurs"], "accessKey": ""}
    assert seen["parityJava"]["topicPerms"] == "[T1=PUB|SUB, T2=DENY]"
    assert not {"parityJava", "parityOurs"} & set(left)


def test_addresses_without_account_are_set_alike(java: Java, ours: Ours) -> None:
    told = []
    for set_them in (java, ours):
        set_them("updateGlobalWhiteAddr", "-g", "10.10.10.1,10.10.10.2")
        told += re.findall(r"globalWhiteRemoteAddresses: (.*)", java("getAclConfig"))
        java("updateGlobalWhiteAddr", "-g", "10.9.9.9")

    assert told == ["[10.10.10.1, 10.10.10.2]"] * 2


def test_files_and_their_changes_are_the_same(java: Java, ours: Ours) -> None:
    java("updateGlobalWhiteAddr", "-g", "10.10.10.3")

    words = java("clusterAclConfigVersion").split()
    (row,) = ours("clusterAclConfigVersion")

    assert words[:4] == [row["cluster"], row["broker"], row["address"], row["file"]]
    assert words[4] == str(row["counter"])
    assert " ".join(words[5:7]) == row["changed_time"][:19].replace("T", " ")


MADE = ("updateAclConfig", "-a", "parityLayout", *ACCOUNT.split())


@pytest.mark.parametrize("place", ["-b", "-c"])
@pytest.mark.parametrize(
    ("words", "before"),
    [
        (("getAclConfig",), ()),
        (("clusterAclConfigVersion",), ()),
        (("updateGlobalWhiteAddr", "-g", "10.9.9.9"), ()),
        (MADE, ()),
        (("deleteAclConfig", "-a", "parityLayout"), MADE),
    ],
    ids=lambda words: words[0] if words else "",
)
def test_layout_is_that_of_java(
    toolbox: Toolbox,
    broker: Broker,
    java_namesrv: Namesrv,
    tmp_path: Path,
    words: tuple[str, ...],
    before: tuple[str, ...],
    place: str,
) -> None:
    there = (place, broker.address if place == "-b" else "Parity", "-n", java_namesrv.address)
    keys = {"MQADMIN_ACCESS_KEY": ADMIN, "MQADMIN_SECRET_KEY": SECRETS[ADMIN]}
    ours = OurMqadmin(java_namesrv.address, {"HOME": str(tmp_path), **keys})

    if before:
        toolbox.mqadmin(*before, *there)
    java = toolbox.mqadmin(*words, *there).stdout
    if before:
        toolbox.mqadmin(*before, *there)
    assert ours.text(*words, *there[:2], "--compat", "-y") == without_secrets(java)


def without_secrets(text: str) -> str:
    """Return the text of Java's tool with what ours hides, or nobody can print again."""
    text = re.sub(r"(  secretKey +: ).*", r"\1******", text)
    return re.sub(r"PlainAccessConfig@[0-9a-f]+", "PlainAccessConfig@0", text)
