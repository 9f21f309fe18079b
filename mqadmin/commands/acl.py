"""``acl …``: show and change the accounts of brokers with access control.

    list, show    GET_BROKER_CLUSTER_ACL_CONFIG
    set           UPDATE_AND_CREATE_ACL_CONFIG: an account, or the fields that are named
    delete        DELETE_ACL_CONFIG
    version       GET_BROKER_CLUSTER_ACL_INFO: how often the files changed, and when last
    white-addr    UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: who needs no signature, replaced as a whole

These are the requests on each broker, behind GET_BROKER_CONFIG; a change is made between two
GET_BROKER_CLUSTER_ACL_CONFIG, of which the second reads it back.

Rule: no secret is in a row, a remark, a question or a title of the journal.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, Generic, Literal, TypeVar, get_args

import click

from mqadmin.changes.targets.account import (
    HIDDEN,
    AccountTarget,
    NoAccessControl,
    WhiteList,
    check_acl,
    read_acl,
)
from mqadmin.changes.write import StepResult, carry_out, delete_existing, plan
from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, argument, command, exit_code_of
from mqadmin.cli.decorators import Where, account_argument, of_brokers, on_brokers
from mqadmin.cli.types import BOOLEAN, Choice, split_at_commas
from mqadmin.cluster.brokers import ServerNode, brokers_and_slaves
from mqadmin.cluster.partial_answers import Answers
from mqadmin.errors import ItemNotFound, Usage
from remoting.bodies import PlainAccessConfig
from remoting.headers import GetBrokerAclConfigResponse
from storefmt.config import fastjson
from storefmt.config.tables import DataVersion

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AccountRow(Row):
    """One account at one broker."""

    identity = "access_key"

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
    """The addresses that need no account at a broker, which ``--compat`` shows first."""

    broker: str
    address: str
    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WithoutAccounts(Row):
    """A broker without access control, at which Java's tool stops; for ``--compat``."""

    broker: str
    address: str


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


@dataclass(frozen=True, slots=True)
class AclAnswers(Generic[T]):
    """The answers of brokers about their accounts.

    Attributes:
        listed: those that have accounts, sorted by name and address.
        without: those without access control, sorted likewise.
        answers: which brokers did not answer.
    """

    listed: list[tuple[ServerNode, T]]
    without: list[ServerNode]
    answers: Answers

    @property
    def notes(self) -> tuple[str, ...]:
        """Return one line that names the brokers without access control."""
        names = ", ".join(f"{node.broker} ({node.address})" for node in self.without)
        return (f"no access control (aclEnable is false): {names}",) if names else ()

    def stops(self, call: Call) -> list[Row]:
        """Return the rows of brokers without access control, which ``--compat`` alone needs."""
        if not call.settings.compat:
            return []
        return [WithoutAccounts(node.broker, node.address) for node in self.without]


async def ask_acl(
    call: Call, where: Where, ask: Callable[[ServerNode], Awaitable[T]]
) -> AclAnswers[T]:
    """Ask every broker with access control, and name the others.

    Raises:
        NoAccessControl: no broker that answered has it.
    """

    async def ask_one(node: ServerNode) -> T | NoAccessControl:
        try:
            return await ask(node)
        except NoAccessControl as error:
            return error

    nodes = await brokers_and_slaves(await call.admin(), where)
    answers = Answers(call)
    said = await answers.each(nodes, ask_one)
    listed = [(node, answer) for node, answer in said if not isinstance(answer, NoAccessControl)]
    without = [(node, answer) for node, answer in said if isinstance(answer, NoAccessControl)]
    if without and not listed and not answers.failed:
        raise without[0][1]
    return AclAnswers(
        sorted(listed, key=lambda pair: (pair[0].broker, pair[0].address)),
        sorted((node for node, _ in without), key=lambda node: (node.broker, node.address)),
        answers,
    )


def account_row(node: ServerNode, account: PlainAccessConfig) -> AccountRow:
    """Return the row of an account."""
    return AccountRow.of(
        account,
        broker=node.broker,
        address=node.address,
        access_key=account.access_key or "",
        topic_perms=tuple(account.topic_perms or ()),
        group_perms=tuple(account.group_perms or ()),
        white_remote_address=account.white_remote_address or None,
    )


def change_row(step_result: StepResult[PlainAccessConfig]) -> AccountChange:
    """Return the row of a change; secrets that a server puts into its text are hidden."""
    step, now = step_result.step, step_result.value
    remark = step_result.remark
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
    shown = account_row(step.target.node, now or PlainAccessConfig(access_key=step.target.names[0]))
    return AccountChange.of(
        shown, admin=now.admin if now else None, was=was, result=step_result.result, remark=remark
    )


@command(
    "acl list",
    examples=(("mqadmin acl list", "permissions of every account, broker by broker"),),
    details="Secrets are never shown. `acl white-addr` shows addresses that need no account.",
    rows=AccountRow,
    columns=("broker", "access_key", "admin", "topic_perms", "group_perms", "default_topic_perm"),
)
@of_brokers
async def list_accounts(call: Call, *, where: Where) -> Outcome:
    """Return one row for each account and broker.

    Raises:
        NoAccessControl: no broker has it.
    """
    admin = await call.admin()
    rows: list[Row] = []
    said = await ask_acl(call, where, lambda node: read_acl(admin, node.address))
    for node, accounts_found in said.listed:
        accounts = accounts_found.plain_access_configs or []
        if call.settings.compat:
            addresses = tuple(accounts_found.global_white_addrs or ())
            rows.append(WhiteAddresses(node.broker, node.address, addresses))
        else:
            accounts = sorted(accounts, key=lambda account: account.access_key or "")
        rows += [account_row(node, account) for account in accounts]
    return Outcome([*rows, *said.stops(call)], notes=said.notes, exit_code=said.answers.exit_code)


@command(
    "acl show",
    examples=(("mqadmin acl show billing -o yaml", "its permissions, broker by broker"),),
    details="The secret of the account is not shown.",
    rows=AccountRow,
    columns=("broker", "access_key", "admin", "topic_perms", "group_perms", "default_topic_perm"),
)
@account_argument
@of_brokers
async def show_account(call: Call, *, account: str, where: Where) -> Outcome:
    """Return one row for each broker.

    Raises:
        NoAccessControl: no broker has it.
        ItemNotFound: no broker has the account.
    """
    admin = await call.admin()
    said = await ask_acl(call, where, lambda node: read_acl(admin, node.address))
    rows = [
        account_row(node, entry)
        for node, config in said.listed
        for entry in config.plain_access_configs or ()
        if entry.access_key == account
    ]
    if not rows and not said.answers.exit_code():
        raise ItemNotFound(f"no broker has account {account}", hint="`acl list` shows them")
    return Outcome(rows, notes=said.notes, exit_code=said.answers.exit_code)


KEY_SIZE_MIN: Final = 7
"""Shorter keys are refused; a Java broker's refusal contains the secret."""
Perm = Literal["DENY", "PUB", "SUB", "PUB|SUB", "SUB|PUB"]


@command(
    "acl set",
    examples=(
        (
            "mqadmin acl set billing --secret - --topic-perm orders=SUB --group-perm billing=SUB",
            "an account; the secret comes from standard input",
        ),
        ("mqadmin acl set billing --admin false", "everything else as it was"),
        ("mqadmin acl set billing --add --topic-perm bills=PUB", "add a permission"),
        ("mqadmin acl set billing --remove orders", "remove a permission"),
    ),
    details="A broker accepts a change only with the account's secret. For an account that "
    "exists, --secret is needed only if the broker hides secrets (ours does, 4.9.7 does not).",
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
@click.option("--admin", type=BOOLEAN, help="whether the account may do everything")
@click.option(
    "--topic-perm", multiple=True, metavar="TOPIC=PUB|SUB|DENY", help="permissions on topics"
)
@click.option("--group-perm", multiple=True, metavar="GROUP=SUB|DENY", help="permissions on groups")
@click.option(
    "--default-topic-perm",
    type=Choice(get_args(Perm)),
    help="permission on every other topic",
)
@click.option(
    "--default-group-perm",
    type=Choice(get_args(Perm)),
    help="permission on every other group",
)
@click.option(
    "--white-addr",
    metavar="PATTERN",
    help="addresses that need no signature, such as 10.0.0.*",
)
@click.option("--replace", "replace_", is_flag=True, help="reset the settings that are not named")
@click.option(
    "--add",
    is_flag=True,
    help="add the permissions to those that are there instead of replacing them",
)
@click.option(
    "--remove",
    multiple=True,
    metavar="NAME",
    help="remove the permission for this topic or group",
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
    """Return one row for each broker, with the old values of what changed.

    Raises:
        Usage: a key is too short, or a permission is invalid.
        ItemNotFound: the cluster or broker does not exist.
    """
    if secret == "-":
        secret = call.console.stdin.readline().rstrip("\r\n")
    _check_keys(account, secret)
    topics, groups = _perms(topic_perm), _perms(group_perm)
    client = await call.admin()
    nodes = await brokers_and_slaves(client, where)

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

    steps = await plan([AccountTarget(client, node, (account,), secret) for node in nodes], choose)
    # A hidden secret cannot be compared with the given one, so it is set.
    steps = [
        replace(step, is_forced=True)
        if secret and step.old is not None and step.old.secret_key in (None, HIDDEN)
        else step
        for step in steps
    ]
    results = await carry_out(call, steps, title=f"acl set {account}")
    rows = [change_row(result) for result in results]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


def _check_keys(account: str, secret: str | None) -> None:
    for name, key in (("access key", account), ("secret", secret)):
        if key is not None and len(key) < KEY_SIZE_MIN:
            raise Usage(f"the {name} is too short ({len(key)} characters)", hint="use at least 7")


def _merged(
    old: list[str] | None, new: list[str], *, add: bool, remove: tuple[str, ...]
) -> list[str] | None:
    """Return the resulting permissions: the new ones instead of the old, or added to them."""
    if not add and not remove:
        return new or old
    perms = {perm.partition("=")[0]: perm for perm in (old or ()) if add or not new}
    perms |= {perm.partition("=")[0]: perm for perm in new}
    # A broker does not read an empty list as permissions.
    return [perm for name, perm in perms.items() if name not in remove] or None


def _perms(texts: tuple[str, ...]) -> list[str]:
    """Return ``name=PERM`` texts, which may be separated by commas as for Java's tool.

    Raises:
        Usage: one of them is not a permission.
    """
    perms = split_at_commas(texts)
    for text in perms:
        name, equals, perm = text.partition("=")
        if not (name and equals) or perm.strip() not in Perm.__args__:  # type: ignore[attr-defined]
            raise Usage(f"{text!r} is not a permission", hint="such as orders=PUB|SUB")
    return perms


@command(
    "acl delete",
    examples=(("mqadmin acl delete billing -y", "from every broker"),),
    details="`undo` restores the account if the broker reveals its secret (4.9.7 does, ours does "
    "not).",
    rows=AccountChange,
    columns=("broker", "access_key", "result", "remark"),
    writes=True,
)
@account_argument
@on_brokers
async def delete_account(call: Call, *, account: str, where: Where) -> Outcome:
    """Return one row for each broker; exit code 3 where none has the account."""
    admin = await call.admin()
    nodes = await brokers_and_slaves(admin, where)
    steps = await plan([AccountTarget(admin, node, (account,)) for node in nodes], delete_existing)
    hidden = any(step.old is not None and step.old.secret_key == HIDDEN for step in steps)
    results = await carry_out(
        call,
        steps,
        title=f"acl delete {account}",
        question=f"delete account {account}"
        + ("? Its secret is hidden, so `undo` cannot restore it." if hidden else "?"),
    )
    rows = [change_row(result) for result in results]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


@dataclass(frozen=True, slots=True)
class AclVersion(Row):
    """One account file of one broker."""

    cluster: str
    broker: str
    address: str
    file: str
    counter: int
    changed_ms: EpochMs


@command(
    "acl version",
    examples=(("mqadmin acl version", "file by file; a broker that differs missed a change"),),
    rows=AclVersion,
    columns=("broker", "address", "file", "counter", "changed_time"),
)
@of_brokers
async def acl_version(call: Call, *, where: Where) -> Outcome:
    """Return one row for each broker and file.

    Raises:
        NoAccessControl: no broker has it.
    """
    admin = await call.admin()

    async def version_at(node: ServerNode) -> GetBrokerAclConfigResponse:
        await check_acl(admin, node.address)
        return await admin.acl_version(node.address)

    rows: list[Row] = []
    said = await ask_acl(call, where, version_at)
    for node, response in said.listed:
        files = fastjson.loads(response.all_acl_file_version or "{}")
        if not isinstance(files, dict) or not files:
            files = {"": fastjson.loads(response.version)}
        for file, value in sorted(files.items(), key=str):
            version = DataVersion.from_json(value)
            rows.append(
                AclVersion(
                    *(response.cluster_name, response.broker_name, node.address, str(file)),
                    version.counter,
                    version.timestamp_ms,
                )
            )
    return Outcome([*rows, *said.stops(call)], notes=said.notes, exit_code=said.answers.exit_code)


@dataclass(frozen=True, slots=True)
class WhiteChange(Row):
    """The white list of one broker before and after the call."""

    broker: str
    address: str
    patterns: tuple[str, ...]
    was: tuple[str, ...]
    result: str
    remark: str | None


@command(
    "acl white-addr",
    examples=(
        ("mqadmin acl white-addr", "the lists of all brokers"),
        ("mqadmin acl white-addr 10.0.0.* 192.168.1.7 -y", "replace them"),
    ),
    rows=WhiteChange,
    writes=True,
)
@argument(
    "patterns",
    nargs=-1,
    metavar="PATTERN",
    help="the new list, such as 10.0.0.*; the present list is shown if left out",
)
@click.option("--file", help="account file on the broker; the first one if left out")
@on_brokers
async def white_addresses(
    call: Call,
    *,
    patterns: tuple[str, ...],
    file: str | None,
    where: Where,
) -> Outcome:
    """Return one row for each broker."""
    admin = await call.admin()
    nodes = await brokers_and_slaves(admin, where)
    new_patterns = tuple(split_at_commas(patterns))
    names = () if file is None else (file,)
    results = await carry_out(
        call,
        await plan(
            [WhiteList(admin, node, names) for node in nodes], lambda old: new_patterns or old
        ),
        title="acl white-addr",
        question=f"allow {', '.join(new_patterns)} without an account on {len(nodes)} broker(s)?",
    )
    rows = [
        WhiteChange.of(result, patterns=result.value or (), was=result.step.old or ())
        for result in results
    ]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
