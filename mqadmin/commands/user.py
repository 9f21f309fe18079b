"""``user …``: show and change the users of brokers with ACL 2.0.

    list      AUTH_LIST_USER
    show      AUTH_GET_USER
    create    AUTH_GET_USER, AUTH_CREATE_USER, and AUTH_GET_USER to read it back
    update    the same with AUTH_UPDATE_USER
    delete    AUTH_GET_USER, AUTH_LIST_ACL, AUTH_DELETE_USER, AUTH_GET_USER
    copy      AUTH_LIST_USER on the source, and those of create and update on the targets

Each broker, a slave as well, keeps users of its own, so that every one of them is asked.

Rule: no password is in a row, a remark, a question or a title of the journal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import click

from mqadmin.changes.targets.user import RulesTarget, UserTarget
from mqadmin.changes.write import (
    Declined,
    StepResult,
    carry_out,
    changed_settings,
    delete_existing,
    first_of_names,
    plan,
    plan_each,
)
from mqadmin.cli.declare import Call, Outcome, Row, argument, command, exit_code_of
from mqadmin.cli.decorators import Where, of_brokers, on_brokers
from mqadmin.cli.types import Choice, split_at_commas
from mqadmin.cluster.brokers import ServerNode, brokers_and_slaves, brokers_to_list
from mqadmin.cluster.elsewhere import CopySource, copied_from, copy_targets, source_of
from mqadmin.cluster.partial_answers import Answers
from mqadmin.errors import ItemNotFound, Usage
from mqadmin.output.rows import REFUSED
from remoting.bodies import UserInfo
from remoting.policies import DISABLED, ENABLED, NORMAL, SUPER, subject_of

HIDDEN: Final = "******"
"""What stands for a password."""
UserType = Literal["Super", "Normal"]
UserStatus = Literal["enable", "disable"]
FIELDS: Final = ("user_type", "user_status", "password")


@dataclass(frozen=True, slots=True)
class UserRow(Row):
    """One user at one broker; a Super user may do everything."""

    identity = "username"

    broker: str
    address: str
    username: str
    user_type: str | None
    user_status: str | None


@dataclass(frozen=True, slots=True)
class UserChange(UserRow):
    """A user at one broker after the call; ``was`` has the old values of what differs."""

    was: dict[str, object]
    result: str
    remark: str | None


COLUMNS: Final = ("broker", "username", "user_type", "user_status")
CHANGE_COLUMNS: Final = (*COLUMNS, "was", "result", "remark")
user_argument = argument("username", metavar="USER", help="the user name")
user_type_option = click.option(
    "--type", "user_type", type=Choice([SUPER, NORMAL]), help="a Super user may do everything"
)
password_option = click.option(
    "--password", metavar="TEXT|-", help="its password; '-' reads a line of standard input"
)


def user_row(node: ServerNode, user: UserInfo) -> UserRow:
    """Return the row of a user."""
    return UserRow.of(user, broker=node.broker, address=node.address, username=user.username or "")


def _change_row(done: StepResult[UserInfo]) -> UserChange:
    """Return the row of a change, without the passwords that a server puts into its text."""
    old, new, remark = done.step.old, done.step.new, done.remark
    for user in (old, new):
        if user is not None and user.password and remark:
            remark = remark.replace(user.password, HIDDEN)
    was = changed_settings(old, new, FIELDS)
    if "password" in was:
        was["password"] = HIDDEN
    shown = user_row(done.target.node, done.value or UserInfo(username=done.target.names[0]))
    return UserChange.of(shown, was=was, result=done.result, remark=remark)


def _outcome(done: Sequence[StepResult[UserInfo]]) -> Outcome:
    rows = [_change_row(step) for step in done]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


def _password(call: Call, text: str | None) -> str | None:
    """Return the password that an option gives, from standard input where it says so."""
    return call.console.stdin.readline().rstrip("\r\n") if text == "-" else text


@command(
    "user list",
    examples=(
        ("mqadmin user list", "every user, broker by broker"),
        ("mqadmin user list bill", "those whose names contain bill"),
    ),
    details="Passwords are never shown. `acl2 list` shows what the users may do.",
    rows=UserRow,
    columns=COLUMNS,
)
@argument("part", required=False, help="only names that contain this text")
@of_brokers
async def list_users(call: Call, *, part: str | None, where: Where) -> Outcome:
    """Return one row for each user and broker."""
    admin = await call.admin()
    answers = Answers(call)
    said = await answers.each(
        await brokers_to_list(call, where), lambda node: admin.list_users(node.address, part)
    )
    rows = [
        user_row(node, user)
        for node, users in said
        for user in sorted(users, key=lambda user: user.username or "")
    ]
    return Outcome(rows, exit_code=answers.exit_code)


@command(
    "user show",
    examples=(("mqadmin user show alice -o yaml", "type and status, broker by broker"),),
    details="The password is not shown.",
    rows=UserRow,
    columns=COLUMNS,
)
@user_argument
@of_brokers
async def show_user(call: Call, *, username: str, where: Where) -> Outcome:
    """Return one row for each broker.

    Raises:
        ItemNotFound: no broker has the user.
    """
    admin = await call.admin()
    answers = Answers(call)
    said = await answers.each(
        await brokers_to_list(call, where), lambda node: admin.get_user(node.address, username)
    )
    rows = [user_row(node, user) for node, user in said if user is not None]
    if not rows and not answers.exit_code():
        raise ItemNotFound(f"no broker has user {username}", hint="`user list` shows them")
    return Outcome(rows, exit_code=answers.exit_code)


@command(
    "user create",
    examples=(
        ("mqadmin user create alice --password -", "the password comes from standard input"),
        ("mqadmin user create root --password - --type Super", "one that may do everything"),
    ),
    details="A user may do nothing until `acl2 set` gives it a rule. One that is there with other "
    "settings is refused: `user update` changes it.",
    rows=UserChange,
    columns=CHANGE_COLUMNS,
    writes=True,
)
@user_argument
@password_option
@user_type_option
@on_brokers
async def create_user(
    call: Call, *, username: str, password: str | None, user_type: UserType | None, where: Where
) -> Outcome:
    """Return one row for each broker.

    Raises:
        Usage: no password is given.
        ItemNotFound: there is no such cluster or broker.
    """
    secret = _password(call, password)
    if not secret:
        raise Usage("a new user needs a password", hint="--password - reads it from a pipe")
    new = UserInfo(
        username=username,
        password=secret,
        user_type=user_type or NORMAL,
        user_status=ENABLED,
    )

    def choose(old: UserInfo | None) -> UserInfo:
        if old is not None and old != new:
            raise Declined(REFUSED, "it is there with other settings; `user update` changes it")
        return new

    admin = await call.admin()
    nodes = await brokers_and_slaves(admin, where)
    steps = await plan([UserTarget(admin, node, (username,)) for node in nodes], choose)
    return _outcome(await carry_out(call, steps, title=f"user create {username}"))


@command(
    "user update",
    examples=(
        ("mqadmin user update alice --status disable", "alice is refused from now on"),
        ("mqadmin user update alice --password -", "a new password from standard input"),
    ),
    details="What is not named stays as it is. Brokers keep users in memory: on a slave the "
    "change counts at once, as on a master.",
    rows=UserChange,
    columns=CHANGE_COLUMNS,
    writes=True,
)
@user_argument
@password_option
@user_type_option
@click.option(
    "--status",
    "user_status",
    type=Choice([ENABLED, DISABLED]),
    help="whether the user may sign in",
)
@on_brokers
async def update_user(
    call: Call,
    *,
    username: str,
    password: str | None,
    user_type: UserType | None,
    user_status: UserStatus | None,
    where: Where,
) -> Outcome:
    """Return one row for each broker; exit code 3 where none has the user.

    Raises:
        Usage: nothing is to be changed.
        ItemNotFound: there is no such cluster or broker.
    """
    secret = _password(call, password)
    if not (secret or user_type or user_status):
        raise Usage("nothing to change", hint="name --password, --type or --status")

    def choose(old: UserInfo | None) -> UserInfo | None:
        delete_existing(old)
        return old and replace(
            old,
            password=secret or old.password,
            user_type=user_type or old.user_type,
            user_status=user_status or old.user_status,
        )

    admin = await call.admin()
    nodes = await brokers_and_slaves(admin, where)
    steps = await plan([UserTarget(admin, node, (username,)) for node in nodes], choose)
    return _outcome(await carry_out(call, steps, title=f"user update {username}"))


@command(
    "user delete",
    examples=(("mqadmin user delete alice -y", "with its rules, from every broker"),),
    details="A broker deletes the rules of the user as well; `undo` brings both back.",
    rows=UserChange,
    columns=("broker", "username", "result", "remark"),
    writes=True,
)
@user_argument
@on_brokers
async def delete_user(call: Call, *, username: str, where: Where) -> Outcome:
    """Return one row for each broker; exit code 3 where none has the user."""
    admin = await call.admin()
    nodes = await brokers_and_slaves(admin, where)
    steps = await plan([UserTarget(admin, node, (username,)) for node in nodes], delete_existing)
    rules = await plan(
        [RulesTarget(admin, node, (subject_of(username),)) for node in nodes], lambda old: old
    )
    done = await carry_out(
        call,
        steps,
        title=f"user delete {username}",
        question=f"delete user {username} and its rules?",
        also=[step.target.saved(step.old) for step in rules if step.old],
    )
    return _outcome(done)


@command(
    "user copy",
    examples=(
        ("mqadmin user copy --from staging --context production -y", "all users, with passwords"),
        ("mqadmin user copy alice --from-broker broker-a --broker broker-b", "one user"),
    ),
    details="A user that is there gets type, status and password of the source. Rules are copied "
    "by `acl2 copy`, afterwards.",
    rows=UserChange,
    columns=CHANGE_COLUMNS,
    writes=True,
)
@argument("usernames", nargs=-1, metavar="USER", help="which users; all if left out")
@copied_from
@on_brokers
async def copy_users(
    call: Call, *, usernames: tuple[str, ...], source: CopySource, where: Where
) -> Outcome:
    """Return one row for each user and broker.

    Raises:
        Usage: nothing says where to copy from.
        ItemNotFound: there is no such cluster or broker, or the source lacks a user.
    """
    names = split_at_commas(usernames)
    there, origin = await source_of(call, source)
    listed = await (await there.admin()).list_users(origin.address)
    users = {user.username or "": user for user in listed}
    unknown = [name for name in names if name not in users]
    if unknown:
        raise ItemNotFound(
            f"{origin.address} has no user {', '.join(unknown)}", hint="`user list` shows them"
        )
    admin = await call.admin()
    nodes = await copy_targets(call, where, there=there, origin=origin)
    pairs = [
        (UserTarget(admin, node, (name,)), lambda _, user=users[name]: user)
        for name in names or users
        for node in nodes
    ]
    whom = first_of_names(names or [*users])
    return _outcome(
        await carry_out(
            call,
            await plan_each(pairs),
            title=f"user copy {whom}",
            question=f"copy {whom} from {origin.broker} to {len(nodes)} broker(s)?",
        )
    )
