"""What the ``acl`` commands share: the row of an account, without its secret.

Rule: no secret is in a row, a remark, a question or a title of the journal.
"""

from dataclasses import dataclass
from typing import Final

from mqadmin.changes.targets.account import HIDDEN
from mqadmin.changes.write import Done
from mqadmin.cli.decorators import Where
from mqadmin.cluster.brokers import Place, masters, with_slaves
from mqadmin.output.rows import Row
from mqadmin.session.call import Call
from remoting.bodies import PlainAccessConfig


@dataclass(frozen=True, slots=True)
class AccountRow(Row):
    """One account at one broker."""

    broker: str
    address: str
    access_key: str
    admin: bool | None
    default_topic_perm: str | None
    default_group_perm: str | None
    topic_perms: tuple[str, ...]
    group_perms: tuple[str, ...]
    white_remote_address: str | None


@dataclass(frozen=True, slots=True)
class WhiteAddresses(Row):
    """From where a broker takes requests without an account: ``--compat`` shows it first."""

    broker: str
    address: str
    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AccountChange(AccountRow):
    """An account at one broker after the call; ``was`` has the old values of what differs."""

    was: dict[str, object]
    result: str
    remark: str | None


FIELDS: Final = (
    *("admin", "default_topic_perm", "default_group_perm", "topic_perms", "group_perms"),
    "white_remote_address",
)


async def acl_places(call: Call, where: Where) -> list[Place]:
    """Return the brokers that are meant: each process has accounts of its own."""
    admin = await call.admin()
    places = await masters(admin, where, every=True)
    return places if where.broker is not None else await with_slaves(admin, places)


def account_row(place: Place, account: PlainAccessConfig) -> AccountRow:
    """Return the row of an account."""
    return AccountRow.of(
        account,
        broker=place.broker,
        address=place.address,
        access_key=account.access_key or "",
        topic_perms=tuple(account.topic_perms or ()),
        group_perms=tuple(account.group_perms or ()),
        white_remote_address=account.white_remote_address or None,
    )


def change_row(done: Done[PlainAccessConfig]) -> AccountChange:
    """Return the row of a change; secrets that a server puts into its text are hidden."""
    step, now = done.step, done.value
    remark = done.remark
    for account in (step.old, step.new):
        if account is not None and account.secret_key and remark:
            remark = remark.replace(account.secret_key, HIDDEN)
    was: dict[str, object] = {}
    if step.old is not None and step.new is not None:
        was = {
            name: getattr(step.old, name)
            for name in FIELDS
            if (getattr(step.old, name) or None) != (getattr(step.new, name) or None)
        }
    shown = account_row(
        step.target.place, now or PlainAccessConfig(access_key=step.target.names[0])
    )
    return AccountChange.of(
        shown, admin=now.admin if now else None, was=was, result=done.result, remark=remark
    )
