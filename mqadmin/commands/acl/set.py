"""``acl set``: create an account, or change the fields that are named.

Requests on each broker: GET_BROKER_CONFIG, GET_BROKER_CLUSTER_ACL_CONFIG,
UPDATE_AND_CREATE_ACL_CONFIG, and the first two again to read it back.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

from mqadmin.accounts import WHERE, AccountChange, acl_places, change_row
from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome, exit_code_of
from mqadmin.things.account import HIDDEN, AccountThing
from mqadmin.writes import carry_out, plan
from remoting.bodies import PlainAccessConfig

KEY_SIZE_MIN: Final = 7
"""Shorter keys are refused, by a Java broker with the secret in its text."""
Perm = Literal["DENY", "PUB", "SUB", "PUB|SUB", "SUB|PUB"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The account and what changes."""

    account: Annotated[str, argument("its access key", metavar="KEY")]
    secret: Annotated[
        str | None, option("its secret; '-' reads a line of standard input", metavar="TEXT|-")
    ] = None
    admin: Annotated[Literal["true", "false"] | None, option("it may do everything, or not")] = None
    topic_perm: Annotated[
        tuple[str, ...], option("what it may do with topics", metavar="TOPIC=PUB|SUB|DENY")
    ] = ()
    group_perm: Annotated[
        tuple[str, ...], option("what it may do with groups", metavar="GROUP=SUB|DENY")
    ] = ()
    default_topic_perm: Annotated[Perm | None, option("with every other topic")] = None
    default_group_perm: Annotated[Perm | None, option("with every other group")] = None
    white_addr: Annotated[
        str | None, option("from where it needs no signature, as 10.0.0.*", metavar="PATTERN")
    ] = None
    replace: Annotated[bool, option("reset what is not named")] = False
    broker: Annotated[
        str | None, option("on this broker: a name or HOST:PORT", short="b", kind=Kind.BROKER)
    ] = None
    cluster: Annotated[str | None, option("on the brokers of a cluster", kind=Kind.CLUSTER)] = None


@command(
    "acl set",
    "create an account, or change the fields that are named",
    examples=(
        (
            "mqadmin acl set billing --secret - --topic-perm orders=SUB --group-perm billing=SUB",
            "an account; the secret comes from standard input",
        ),
        ("mqadmin acl set billing --admin false", "everything else as it was"),
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
    java=(
        Java(
            "updateAclConfig",
            (
                *WHERE,
                JavaOption("a", "accessKey", "account", required=True),
                JavaOption("s", "secretKey", "secret", required=True),
                JavaOption("w", "whiteRemoteAddress", "white_addr"),
                JavaOption("i", "defaultTopicPerm", "default_topic_perm"),
                JavaOption("u", "defaultGroupPerm", "default_group_perm"),
                JavaOption("t", "topicPerms", "topic_perm"),
                JavaOption("g", "groupPerms", "group_perm"),
                JavaOption("m", "admin", "admin"),
            ),
            any_of=("broker", "cluster"),
        ),
    ),
)
async def set_account(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker, with the old values of what changed.

    Raises:
        Usage: a key is too short, or a permission is none.
        NotFound: there is no such cluster or broker.
    """
    secret = args.secret
    if secret == "-":
        secret = call.console.stdin.readline().rstrip("\r\n")
    for name, key in (("access key", args.account), ("secret", secret)):
        if key is not None and len(key) < KEY_SIZE_MIN:
            raise Usage(f"the {name} has {len(key)} characters", hint="7 are the least")
    topics, groups = _perms(args.topic_perm), _perms(args.group_perm)
    admin = await call.admin()
    places = await acl_places(call, args.broker, args.cluster)

    def choose(old: PlainAccessConfig | None) -> PlainAccessConfig:
        base = PlainAccessConfig(access_key=args.account)
        if old is not None:
            base = replace(base, secret_key=old.secret_key, admin=False)
            base = base if args.replace else old
        return replace(
            base,
            secret_key=secret or base.secret_key,
            admin=base.admin if args.admin is None else args.admin == "true",
            topic_perms=topics or base.topic_perms,
            group_perms=groups or base.group_perms,
            default_topic_perm=args.default_topic_perm or base.default_topic_perm,
            default_group_perm=args.default_group_perm or base.default_group_perm,
            white_remote_address=args.white_addr or base.white_remote_address,
        )

    steps = await plan(
        [AccountThing(admin, place, (args.account,), secret) for place in places], choose
    )
    # Whether a hidden secret is the one that is given, nobody can tell: it is set.
    steps = [
        replace(step, is_blind=True)
        if secret and step.old is not None and step.old.secret_key in (None, HIDDEN)
        else step
        for step in steps
    ]
    done = await carry_out(call, steps, title=f"acl set {args.account}")
    rows = [change_row(one) for one in done]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


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
