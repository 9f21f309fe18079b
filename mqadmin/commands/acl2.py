"""``acl2 …``: show, change and test the rules of brokers with ACL 2.0 (RocketMQ 5.3 and later).

    list      AUTH_LIST_ACL
    show      AUTH_GET_USER, AUTH_LIST_ACL
    set       AUTH_LIST_ACL, AUTH_UPDATE_ACL, and AUTH_LIST_ACL to read it back
    delete    the same with AUTH_DELETE_ACL
    copy      AUTH_LIST_ACL on the source, and those of set and delete on the targets
    test      AUTH_GET_USER, AUTH_GET_ACL, GET_BROKER_CONFIG

Each broker, a slave as well, keeps rules of its own, so that every one of them is asked. ``acl``
is for the accounts of 4.x, ``user`` for the users that the rules are about.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import click

from mqadmin.changes.targets.user import RuleKey, Rules, RulesTarget, rules_of
from mqadmin.changes.write import (
    Declined,
    StepResult,
    carry_out,
    changed_settings,
    first_of_names,
    plan,
    plan_each,
)
from mqadmin.cli.declare import Call, Outcome, Row, argument, command, exit_code_of
from mqadmin.cli.decorators import Where, of_brokers, on_brokers
from mqadmin.cli.types import Choice, TextType, split_at_commas
from mqadmin.cluster.brokers import ServerNode, brokers_and_slaves, brokers_to_list
from mqadmin.cluster.elsewhere import CopySource, copied_from, copy_targets, source_of
from mqadmin.cluster.partial_answers import Answers
from mqadmin.errors import ItemNotFound, Usage
from mqadmin.output.rows import NOT_FOUND
from remoting.bodies import AclInfo, PolicyEntryInfo
from remoting.policies import (
    ACTIONS,
    ALL,
    ALLOW,
    ANY,
    CUSTOM,
    DEFAULT,
    DENY,
    AclDecision,
    decide,
    parse_resource,
    subject_of,
)

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

EVERYWHERE: Final = "any"
"""What lifts the addresses of a rule."""
DENIED: Final = 1
Decision = Literal["Allow", "Deny"]


@dataclass(frozen=True, slots=True)
class RuleRow(Row):
    """One rule at one broker; without ``source_ips`` it counts for every address."""

    identity = "subject"

    broker: str
    address: str
    subject: str
    policy_type: str | None
    resource: str | None
    actions: tuple[str, ...]
    source_ips: tuple[str, ...]
    decision: str | None


@dataclass(frozen=True, slots=True)
class RuleChange(RuleRow):
    """A rule at one broker after the call; ``was`` has the old values of what differs."""

    was: dict[str, object]
    result: str
    remark: str | None


FIELDS: Final = ("actions", "source_ips", "decision")
COLUMNS: Final = ("broker", "subject", "resource", "actions", "source_ips", "decision")
CHANGE_COLUMNS: Final = (*COLUMNS, "was", "result", "remark")


def rule_row(node: ServerNode, subject: str, key: RuleKey, rule: PolicyEntryInfo | None) -> RuleRow:
    """Return the row of a rule, or of one that is not there."""
    return RuleRow(
        node.broker,
        node.address,
        subject,
        key.policy_type,
        key.resource,
        tuple(rule.actions or ()) if rule else (),
        tuple(rule.source_ips or ()) if rule else (),
        rule.decision if rule else None,
    )


def _resource_key(text: str) -> str:
    return parse_resource(text).key


def _actions(text: str) -> tuple[str, ...]:
    """Read actions with commas between, in any case.

    Raises:
        ValueError: one of them is not an action.
    """
    known = {action.lower(): action for action in ACTIONS}
    words = split_at_commas([text])
    unknown = [word for word in words if word.lower() not in known]
    if unknown or not words:
        raise ValueError(f"{text!r} is not a list of {', '.join(ACTIONS)}")
    return tuple(known[word.lower()] for word in words)


def _keys(resources: Iterable[str], policy_type: str) -> list[RuleKey]:
    """Return what names the rules for some resources.

    Raises:
        Usage: one of them is not a resource.
    """
    try:
        return [RuleKey(policy_type, _resource_key(text)) for text in split_at_commas(resources)]
    except ValueError as error:
        raise Usage(str(error)) from None


RESOURCE: Final = "Topic:orders, Group:bill*, Cluster:* or *"
subject_argument = argument("subject", metavar="USER", help="the user name")
resources_help: Final = f"what the rule is about, such as {RESOURCE}"
default_option = click.option(
    "--default",
    "is_default",
    is_flag=True,
    help="a default rule, which counts where no custom rule matches",
)


@command(
    "acl2 list",
    examples=(
        ("mqadmin acl2 list", "who may do what, broker by broker"),
        ("mqadmin acl2 list --resource Topic:orders", "the rules that name it"),
    ),
    details="A Super user has no rules and may do everything; `user list` shows who is one.",
    rows=RuleRow,
    columns=COLUMNS,
)
@argument("part", metavar="USER", required=False, help="only users that contain this text")
@click.option("--resource", "-r", help="only resources that contain this text")
@of_brokers
async def list_rules(
    call: Call, *, part: str | None, resource: str | None, where: Where
) -> Outcome:
    """Return one row for each rule and broker."""
    admin = await call.admin()
    nodes = await brokers_to_list(call, where)
    answers = Answers(call)
    said = await answers.each(
        nodes, lambda node: admin.list_acls(node.address, subject=part, resource=resource)
    )
    rows = [row for node, acls in said for acl in acls for row in _listed(node, acl)]
    return Outcome(rows, exit_code=answers.exit_code)


def _listed(node: ServerNode, acl: AclInfo) -> Iterator[RuleRow]:
    """Yield every rule of a subject; a broker may have several for one resource."""
    for policy in acl.policies or ():
        for rule in policy.entries or ():
            key = RuleKey(policy.policy_type or CUSTOM, rule.resource or "")
            yield rule_row(node, acl.subject or "", key, rule)


@command(
    "acl2 show",
    examples=(("mqadmin acl2 show alice", "what alice may do, broker by broker"),),
    rows=RuleRow,
    columns=COLUMNS,
)
@subject_argument
@of_brokers
async def show_rules(call: Call, *, subject: str, where: Where) -> Outcome:
    """Return one row for each rule and broker.

    Raises:
        ItemNotFound: no broker has a rule of the user.
    """
    admin = await call.admin()
    name = subject_of(subject)
    nodes = await brokers_to_list(call, where)
    answers = Answers(call)
    said = await answers.each(nodes, lambda node: admin.list_acls(node.address, subject=name))
    rows = [
        row
        for node, acls in said
        for acl in acls
        if acl.subject == name
        for row in _listed(node, acl)
    ]
    if not rows and not answers.exit_code():
        raise ItemNotFound(f"no broker has a rule of {name}", hint="`acl2 list` shows them")
    return Outcome(rows, exit_code=answers.exit_code)


@command(
    "acl2 set",
    examples=(
        ("mqadmin acl2 set alice Topic:orders --actions Pub", "alice may send to the topic"),
        ("mqadmin acl2 set bob Topic:orders Group:bill* --actions Sub", "bob may read it"),
        ("mqadmin acl2 set bob Group:bill* --source-ip 10.0.0.0/8", "but only from there"),
        ("mqadmin acl2 set bob Topic:orders --decision Deny", "and now no longer"),
    ),
    details="A rule that is there keeps what is not named; --replace resets it. A new rule needs "
    "--actions, and allows them unless --decision says otherwise. To read, a consumer needs Sub "
    "on the topic and on the group.",
    rows=RuleChange,
    columns=CHANGE_COLUMNS,
    writes=True,
)
@subject_argument
@argument("resources", nargs=-1, required=True, metavar="RESOURCE", help=resources_help)
@click.option(
    "--actions",
    type=TextType(read=_actions, metavar="ACTION[,ACTION]"),
    help=f"of {', '.join(ACTIONS)}",
)
@click.option("--decision", type=Choice([ALLOW, DENY]), help="what the rule says")
@click.option(
    "--source-ip",
    multiple=True,
    metavar="ADDRESS|NETWORK",
    help=f"from where alone the rule counts; '{EVERYWHERE}' lifts that",
)
@click.option("--replace", "replace_", is_flag=True, help="reset what is not named")
@default_option
@on_brokers
async def set_rules(
    call: Call,
    *,
    subject: str,
    resources: tuple[str, ...],
    actions: tuple[str, ...] | None,
    decision: Decision | None,
    source_ip: tuple[str, ...],
    replace_: bool,
    is_default: bool,
    where: Where,
) -> Outcome:
    """Return one row for each resource and broker, with the old values of what changed.

    Raises:
        Usage: a word is not a resource, or a new rule has no actions.
        ItemNotFound: there is no such cluster or broker.
    """
    keys = _keys(resources, DEFAULT if is_default else CUSTOM)
    addresses = [address for address in split_at_commas(source_ip) if address != EVERYWHERE]

    def rule_for(key: RuleKey, old: PolicyEntryInfo | None) -> PolicyEntryInfo:
        base = PolicyEntryInfo(resource=key.resource, decision=ALLOW, actions=[], source_ips=[])
        base = base if old is None or replace_ else old
        made = replace(
            base,
            actions=list(actions or base.actions or ()),
            decision=decision or base.decision,
            source_ips=addresses if source_ip else base.source_ips,
        )
        if not made.actions:
            raise Usage(f"a new rule for {key.resource} needs --actions", hint="such as Pub,Sub")
        return made

    def choose(old: Rules | None) -> Rules:
        return {**(old or {}), **{key: rule_for(key, (old or {}).get(key)) for key in keys}}

    admin = await call.admin()
    nodes = await brokers_and_slaves(admin, where)
    name = subject_of(subject)
    steps = await plan([RulesTarget(admin, node, (name,)) for node in nodes], choose)
    done = await carry_out(call, steps, title=f"acl2 set {name} {first_of_names(resources)}")
    return _outcome(row for step in done for row in _change_rows(step, keys))


def _change_rows(done: StepResult[Rules], keys: Iterable[RuleKey]) -> Iterator[RuleChange]:
    """Yield one row for each rule that a line is about; one that is gone shows what it was."""
    old, new, now = done.step.old or {}, done.step.new or {}, done.value or {}
    for key in keys:
        before, after = old.get(key), new.get(key)
        was = changed_settings(before, after, FIELDS)
        is_missing = before is None and after is None
        shown = rule_row(done.target.node, done.target.names[0], key, now.get(key) or before)
        result = NOT_FOUND if is_missing and not done.remark else done.result
        yield RuleChange.of(shown, was=was, result=result, remark=done.remark)


def _outcome(rows: Iterable[RuleChange]) -> Outcome:
    made = list(rows)
    return Outcome(made, exit_code=exit_code_of(row.result for row in made))


@command(
    "acl2 delete",
    examples=(
        ("mqadmin acl2 delete alice Topic:orders -y", "one rule"),
        ("mqadmin acl2 delete alice -y", "every rule of alice"),
    ),
    details="What no rule allows is denied. `undo` brings the rules back.",
    rows=RuleChange,
    columns=("broker", "subject", "resource", "actions", "decision", "result", "remark"),
    writes=True,
)
@subject_argument
@argument("resources", nargs=-1, metavar="RESOURCE", help="of these rules; all if left out")
@default_option
@on_brokers
async def delete_rules(
    call: Call, *, subject: str, resources: tuple[str, ...], is_default: bool, where: Where
) -> Outcome:
    """Return one row for each rule and broker; exit code 3 where none is there.

    Raises:
        Usage: a word is not a resource.
        ItemNotFound: there is no such cluster or broker.
    """
    keys = _keys(resources, DEFAULT if is_default else CUSTOM)

    def choose(old: Rules | None) -> Rules | None:
        doomed = keys or list(old or {})
        if not old or not any(key in old for key in doomed):
            raise Declined(NOT_FOUND)
        return {key: rule for key, rule in old.items() if key not in doomed}

    admin = await call.admin()
    nodes = await brokers_and_slaves(admin, where)
    name = subject_of(subject)
    steps = await plan([RulesTarget(admin, node, (name,)) for node in nodes], choose)
    what = f"the rules of {name} for {', '.join(resources)}" if keys else f"all rules of {name}"
    done = await carry_out(call, steps, title=f"acl2 delete {name}", question=f"delete {what}?")
    nothing = [RuleKey("", "")]
    return _outcome(
        row for step in done for row in _change_rows(step, keys or step.step.old or nothing)
    )


@command(
    "acl2 copy",
    examples=(
        ("mqadmin acl2 copy --from staging --context production -y", "the rules of all users"),
        ("mqadmin acl2 copy alice --from-broker broker-a --broker broker-b", "of one user"),
    ),
    details="Rules for other resources stay on the targets. The users have to be there: `user "
    "copy` first.",
    rows=RuleChange,
    columns=CHANGE_COLUMNS,
    writes=True,
)
@argument("subjects", nargs=-1, metavar="USER", help="whose rules; all if left out")
@copied_from
@on_brokers
async def copy_rules(
    call: Call, *, subjects: tuple[str, ...], source: CopySource, where: Where
) -> Outcome:
    """Return one row for each rule and broker.

    Raises:
        Usage: nothing says where to copy from.
        ItemNotFound: there is no such cluster or broker, or the source has no rule of a user.
    """
    there, origin = await source_of(call, source)
    acls = await (await there.admin()).list_acls(origin.address)
    known = {acl.subject or "": rules_of(acl) for acl in acls}
    names = [subject_of(text) for text in split_at_commas(subjects)] or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ItemNotFound(
            f"{origin.address} has no rule of {', '.join(unknown)}",
            hint="`acl2 list` shows them",
        )
    admin = await call.admin()
    nodes = await copy_targets(call, where, there=there, origin=origin)
    steps = await plan_each(
        [
            (RulesTarget(admin, node, (name,)), _adding(known[name]))
            for name in names
            for node in nodes
        ]
    )
    whose = first_of_names(names)
    done = await carry_out(
        call,
        steps,
        title=f"acl2 copy {whose}",
        question=f"copy the rules of {whose} from {origin.broker} to {len(nodes)} broker(s)?",
    )
    return _outcome(row for step in done for row in _change_rows(step, known[step.target.names[0]]))


def _adding(rules: Rules) -> Callable[[Rules | None], Rules]:
    return lambda old: {**(old or {}), **rules}


@dataclass(frozen=True, slots=True)
class AclTestRow(Row):
    """The decision of one broker, and the rule that makes it; no ``rule`` where none does."""

    broker: str
    address: str
    subject: str
    action: str
    resource: str
    source_ip: str | None
    decision: str
    rule: str | None
    policy_type: str | None
    reason: str


@command(
    "acl2 test",
    examples=(
        ("mqadmin acl2 test alice Pub Topic:orders", "may alice send, and by which rule?"),
        ("mqadmin acl2 test bob Sub Group:billing --source-ip 10.1.2.3", "from this address?"),
    ),
    details="The rules are read from every broker and evaluated as a broker does it; nothing is "
    "sent as the user. The exit code is 1 if a broker would refuse. The narrowest matching rule "
    "decides: one for a name comes before one for a prefix, then one for a type, then *; among "
    "equals, Deny wins. A broker of 5.4.0 checks rules only for requests that name something in "
    "their header: every user may read its settings and counters.",
    rows=AclTestRow,
    columns=("broker", "subject", "action", "resource", "decision", "rule", "reason"),
)
@subject_argument
@argument(
    "action",
    type=Choice([*(action for action in ACTIONS if action != ALL), ANY]),
    help="what the user wants to do; Any: whether it may do anything at all",
)
@argument("resource", metavar="RESOURCE", help="a topic, group or cluster, such as Topic:orders")
@click.option("--source-ip", metavar="ADDRESS", help="from where the request would come")
@of_brokers
async def test_rules(
    call: Call, *, subject: str, action: str, resource: str, source_ip: str | None, where: Where
) -> Outcome:
    """Return one row for each broker.

    Raises:
        Usage: the word is not a resource.
        ItemNotFound: there is no such cluster or broker.
    """
    (key,) = _keys([resource], CUSTOM)
    admin = await call.admin()
    name = subject_of(subject)
    answers = Answers(call)

    async def verdict_of(node: ServerNode) -> AclDecision:
        return await _verdict(admin, node.address, name, action, key.resource, source_ip)

    said = await answers.each(await brokers_and_slaves(admin, where), verdict_of)
    rows = [
        AclTestRow(
            node.broker,
            node.address,
            name,
            action,
            key.resource,
            source_ip,
            ALLOW if verdict.is_allowed else DENY,
            _rule_text(verdict.rule),
            verdict.policy_type or None,
            verdict.reason,
        )
        for node, verdict in said
    ]
    is_denied = any(row.decision == DENY for row in rows)
    return Outcome(rows, exit_code=lambda: answers.exit_code() or (DENIED if is_denied else 0))


async def _verdict(
    admin: "Admin", address: str, subject: str, action: str, resource: str, source_ip: str | None
) -> AclDecision:
    settings = await admin.broker_config(address)
    if settings.get("authorizationEnabled", "false") != "true":
        return AclDecision(True, "the broker checks no rules: authorizationEnabled is false")
    user = await admin.get_user(address, subject.partition(":")[2])
    acl = await admin.get_acl(address, subject) if user is not None else None
    return decide(
        user, acl, actions=(action,), resource=parse_resource(resource), source_ip=source_ip
    )


def _rule_text(rule: PolicyEntryInfo | None) -> str | None:
    """Return a rule on one line, as ``Allow Pub,Sub on Topic:orders from 10.0.0.0/8``."""
    if rule is None:
        return None
    text = f"{rule.decision} {','.join(rule.actions or ())} on {rule.resource}"
    return f"{text} from {','.join(rule.source_ips)}" if rule.source_ips else text
