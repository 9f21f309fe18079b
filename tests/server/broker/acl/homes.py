"""A home directory with accounts, and requests signed by them."""

from pathlib import Path

import yaml

from remoting.acl import sign
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.header import Header
from server.broker.acl.control import AccessControl
from server.broker.acl.files import AclFiles
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


def write_home(root: Path, **changes: object) -> Path:
    """Write ``conf/plain_acl.yml`` below ``root`` and return ``root``."""
    content = {"globalWhiteRemoteAddresses": [], "accounts": ACCOUNTS, **changes}
    (root / "conf").mkdir(parents=True, exist_ok=True)
    (root / "conf" / "plain_acl.yml").write_text(yaml.safe_dump(content, sort_keys=False))
    return root


def control(root: Path, *, strict: bool = True, topic: str | None = "T") -> AccessControl:
    """Return the access control of a home; every message is in ``topic``."""
    return AccessControl(AclFiles(root), strict=strict, topic_at=lambda log_offset: topic)


async def ask_as(desk: Desk, by: str | None, command: Command) -> Command:
    """Send a request signed by that account; None leaves it unsigned."""
    if by is not None:
        sign(command, by, SECRETS[by])
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
        sign(command, by, secret or SECRETS[by], security_token=token)
    return command
