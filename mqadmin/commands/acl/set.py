"""``acl set``: create an account, or change the fields that are named.

Requests on each broker: GET_BROKER_CONFIG, GET_BROKER_CLUSTER_ACL_CONFIG,
UPDATE_AND_CREATE_ACL_CONFIG, and the first two again to read it back.
"""

from dataclasses import replace
from typing import Final, Literal, get_args

import click

from mqadmin.changes.accounts import AccountChange, acl_places, change_row
from mqadmin.changes.targets.account import HIDDEN, AccountTarget
from mqadmin.changes.write import carry_out, plan
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, account_argument, on_brokers
from mqadmin.cli.types import BOOLEAN, Choice
from mqadmin.errors import Usage
from mqadmin.output.rows import Outcome, exit_code_of
from mqadmin.session.call import Call
from remoting.bodies import PlainAccessConfig

KEY_SIZE_MIN: Final = 7
"""Shorter keys are refused, by a Java broker with the secret in its text."""
Perm = Literal["DENY", "PUB", "SUB", "PUB|SUB", "SUB|PUB"]


@command(
    "acl set",
    examples=(
        (
            "mqadmin acl set billing --secret - --topic-perm orders=SUB --group-perm billing=SUB",
            "an account; the secret comes from standard input",
        ),
        ("mqadmin acl set billing --admin false", "everything else as it was"),
        ("mqadmin acl set billing --add --topic-perm bills=PUB", "one permission more"),
        ("mqadmin acl set billing --remove orders", "one permission less"),
    ),
    details="A broker takes a change only with the account's secret. One that tells it when asked\n"
    "(4.9.7) needs no --secret for an account that is there; one that hides it does.",
    rows=AccountChange,
    columns=(
        "broker",
        "access_key",
        "admin",
        "topic_perms",
        "group_perms",
        "was",
        "result",
        "remark",
    ),
    writes=True,
)
@account_argument
@click.option("--secret", metavar="TEXT|-", help="its secret; '-' reads a line of standard input")
@click.option("--admin", type=BOOLEAN, help="it may do everything, or not")
@click.option(
    "--topic-perm", multiple=True, metavar="TOPIC=PUB|SUB|DENY", help="what it may do with topics"
)
@click.option(
    "--group-perm", multiple=True, metavar="GROUP=SUB|DENY", help="what it may do with groups"
)
@click.option("--default-topic-perm", type=Choice(get_args(Perm)), help="with every other topic")
@click.option("--default-group-perm", type=Choice(get_args(Perm)), help="with every other group")
@click.option(
    "--white-addr", metavar="PATTERN", help="from where it needs no signature, as 10.0.0.*"
)
@click.option("--replace", "replace_", is_flag=True, help="reset what is not named")
@click.option(
    "--add",
    is_flag=True,
    help="permissions are added to those that are there, and do not replace them",
)
@click.option(
    "--remove",
    multiple=True,
    metavar="NAME",
    help="take the permission for this topic or group away",
)
@on_brokers
async def set_account(
    call: Call,
    *,
    account: str,
    secret: str | None,
    admin: bool | None,
    topic_perm: tuple[str, ...],
    group_perm: tuple[str, ...],
    default_topic_perm: Perm | None,
    default_group_perm: Perm | None,
    white_addr: str | None,
    replace_: bool,
    add: bool,
    remove: tuple[str, ...],
    where: Where,
) -> Outcome:
    """Return one row a broker, with the old values of what changed.

    Raises:
        Usage: a key is too short, or a permission is none.
        NotFound: there is no such cluster or broker.
    """
    if secret == "-":
        secret = call.console.stdin.readline().rstrip("\r\n")
    _check_keys(account, secret)
    topics, groups = _perms(topic_perm), _perms(group_perm)
    client = await call.admin()
    places = await acl_places(call, where)

    def choose(old: PlainAccessConfig | None) -> PlainAccessConfig:
        base = PlainAccessConfig(access_key=account)
        if old is not None:
            base = replace(base, secret_key=old.secret_key, admin=False)
            base = base if replace_ else old
        return replace(
            base,
            secret_key=secret or base.secret_key,
            admin=base.admin if admin is None else admin,
            topic_perms=_merged(base.topic_perms, topics, add=add, remove=remove),
            group_perms=_merged(base.group_perms, groups, add=add, remove=remove),
            default_topic_perm=default_topic_perm or base.default_topic_perm,
            default_group_perm=default_group_perm or base.default_group_perm,
            white_remote_address=white_addr or base.white_remote_address,
        )

    steps = await plan(
        [AccountTarget(client, place, (account,), secret) for place in places], choose
    )
    # Whether a hidden secret is the one that is given, nobody can tell: it is set.
    steps = [
        replace(step, is_blind=True)
        if secret and step.old is not None and step.old.secret_key in (None, HIDDEN)
        else step
        for step in steps
    ]
    done = await carry_out(call, steps, title=f"acl set {account}")
    rows = [change_row(one) for one in done]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


def _check_keys(account: str, secret: str | None) -> None:
    for name, key in (("access key", account), ("secret", secret)):
        if key is not None and len(key) < KEY_SIZE_MIN:
            raise Usage(f"the {name} has {len(key)} characters", hint="7 are the least")


def _merged(
    old: list[str] | None, new: list[str], *, add: bool, remove: tuple[str, ...]
) -> list[str] | None:
    """Return the permissions that shall be: new ones instead of the old, or beside them."""
    if not add and not remove:
        return new or old
    held = {one.partition("=")[0]: one for one in (old or ()) if add or not new}
    held |= {one.partition("=")[0]: one for one in new}
    # An empty list is no permission that a broker reads.
    return [one for name, one in held.items() if name not in remove] or None


def _perms(texts: tuple[str, ...]) -> list[str]:
    """Return ``name=PERM`` texts, also those that Java's tool takes with commas between.

    Raises:
        Usage: one of them is none.
    """
    perms = [one.strip() for text in texts for one in text.split(",") if one.strip()]
    for one in perms:
        name, equals, perm = one.partition("=")
        if not (name and equals) or perm.strip() not in Perm.__args__:  # type: ignore[attr-defined]
            raise Usage(f"{one!r} is no permission", hint="as orders=PUB, orders=PUB|SUB")
    return perms
