"""A home directory with accounts, and requests signed by them."""

import time
from pathlib import Path

import yaml

from mqserver.broker.acl.acl_files import AclFiles
from mqserver.broker.acl.control import AccessControl
from mqserver.broker.acl.scope import Scopes
from remoting.acl import sign
from remoting.codes import ExtensionCode, RequestCode
from remoting.command import Command
from remoting.header import Header
from remoting.signing import sign_for
from tests.server.broker.desk import Desk, create

USER, OTHER, ADMIN = "userKey1", "otherKey", "adminKey"
SECRETS = {USER: "userSecret", OTHER: "otherSecret", ADMIN: "adminSecret"}

ACCOUNTS: list[dict[str, object]] = [
    {
        "accessKey": USER,
        "secretKey": SECRETS[USER],
        "topicPerms": ["T=PUB|SUB", "P=PUB", "S=SUB", "D=DENY"],
        "groupPerms": ["G=SUB"],
    },
    {
        "accessKey": OTHER,
        "secretKey": SECRETS[OTHER],
        "topicPerms": ["T2=PUB|SUB"],
        "groupPerms": ["G2=SUB"],
    },
    {"accessKey": ADMIN, "secretKey": SECRETS[ADMIN], "admin": True},
]

ELSEWHERE = "10.9.8.7"
RECEIVER = "10.9.8.1:10911"
"""The address of the broker."""
NOW_MS = 1_795_368_000_000


def write_home(root: Path, **changes: object) -> Path:
    """Write ``conf/plain_acl.yml`` below ``root`` and return ``root``."""
    content = {"globalWhiteRemoteAddresses": [], "accounts": ACCOUNTS, **changes}
    (root / "conf").mkdir(parents=True, exist_ok=True)
    (root / "conf" / "plain_acl.yml").write_text(yaml.safe_dump(content, sort_keys=False))
    return root


def control(root: Path, *, strict: bool = True, topic: str | None = "T") -> AccessControl:
    """Return the access control of a home; every message is in ``topic``."""
    return AccessControl(
        AclFiles(root),
        strict=strict,
        topic_at=lambda log_offset: topic,
        scopes=Scopes(lambda: {RECEIVER}, lambda: NOW_MS),
    )


async def ask_as(desk: Desk, by: str | None, command: Command) -> Command:
    """Send a request signed by that account; None leaves it unsigned."""
    if by is not None:
        now_ms = time.time_ns() // 1_000_000
        sign_for(command, by, SECRETS[by], receiver=desk.address, now_ms=now_ms)
    return await desk.client.invoke(desk.address, command, timeout_s=60)


async def make_topics(desk: Desk, *topics: str) -> None:
    """Let the administrator create topics."""
    for topic in topics:
        made = Command.request(RequestCode.UPDATE_AND_CREATE_TOPIC, create(topic))
        assert (await ask_as(desk, ADMIN, made)).code == 0


def signed(
    code: int,
    header: Header | None = None,
    *,
    by: str | None = USER,
    secret: str | None = None,
    body: bytes = b"",
    token: str | None = None,
    **ext: str,
) -> Command:
    """Return a request signed by that account; None leaves it unsigned."""
    command = Command.request(code, header, body=body)
    command.ext.update(ext)
    if by is not None:
        if code in set(ExtensionCode):
            sign_for(command, by, secret or SECRETS[by], receiver=RECEIVER, now_ms=NOW_MS)
        else:
            sign(command, by, secret or SECRETS[by], security_token=token)
    return command
