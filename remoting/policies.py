"""The decision of ACL 2.0: may a user do something with a resource, and by which rule.

    Super user                              allowed
    matching custom rules                   the narrowest one decides
    else matching default rules             the narrowest one decides
    no matching rule                        denied

A rule matches when its resource, one of its actions and one of its source addresses do. Of two
matching rules the narrower one is that for a name (``Topic:orders``) before a prefix
(``Topic:ord*``, the longer one first) before the whole type (``Topic:*``) before everything
(``*``); of equals, Deny comes first.

Rule: this module decides, and reads and writes nothing. The broker asks it about requests, and
``acl2 test`` of mqadmin about rules that it has read, so both decide the same.

Source: auth/authorization/chain/UserAuthorizationHandler.java, AclAuthorizationHandler.java,
auth/authorization/model/Resource.java, PolicyEntry.java, Environment.java (5.4.0).
"""

from collections.abc import Collection, Iterator, Set
from enum import IntEnum
from ipaddress import ip_address, ip_network
from typing import Final, NamedTuple

from remoting.bodies.auth import AclInfo, PolicyEntryInfo, UserInfo

ALL: Final = "All"
ANY: Final = "Any"
ACTIONS: Final = (ALL, "Pub", "Sub", "Create", "Update", "Delete", "Get", "List")
"""What a rule may name; ``Any`` stands in requests alone, and is met by every rule."""
TYPES: Final = ("Cluster", "Namespace", "Topic", "Group")
CUSTOM, DEFAULT = "Custom", "Default"
ALLOW, DENY = "Allow", "Deny"
SUPER, NORMAL = "Super", "Normal"
ENABLED, DISABLED = "enable", "disable"
USER: Final = "User"


class Pattern(IntEnum):
    """How much a resource stands for, the narrowest first."""

    LITERAL = 0
    PREFIXED = 1
    WHOLE_TYPE = 2
    EVERYTHING = 3


class Resource(NamedTuple):
    """What a rule is about, or what a request needs."""

    type: str
    name: str
    pattern: Pattern

    @property
    def key(self) -> str:
        """Return the resource as RocketMQ writes it."""
        if self.pattern is Pattern.EVERYTHING:
            return "*"
        star = "" if self.pattern is Pattern.LITERAL else "*"
        return f"{self.type}:{self.name}{star}"

    def covers(self, other: "Resource") -> bool:
        """Return whether a rule for this resource is about ``other``, which a request names."""
        if self.pattern is Pattern.EVERYTHING:
            return True
        if self.type != other.type:
            return False
        if self.pattern is Pattern.LITERAL:
            return self.name == other.name
        return other.name.startswith(self.name)


class AclDecision(NamedTuple):
    """What is decided, and why.

    Attributes:
        rule: the rule that decides; None where no rule does.
        policy_type: Custom or Default; empty where no rule decides.
    """

    is_allowed: bool
    reason: str
    rule: PolicyEntryInfo | None = None
    policy_type: str = ""


def parse_resource(text: str) -> Resource:
    """Return the resource of a text: ``Topic:orders``, ``Group:bill*``, ``Cluster:*`` or ``*``.

    Raises:
        ValueError: the text does not name a resource.
    """
    text = text.strip()
    if text == "*":
        return Resource(ANY, "", Pattern.EVERYTHING)
    word, _, name = text.partition(":")
    if word.lower() == ANY.lower():
        return Resource(ANY, "", Pattern.EVERYTHING)
    found = next((one for one in TYPES if one.lower() == word.lower()), None)
    if found is None:
        raise ValueError(f"{text!r} is not a resource, such as Topic:orders, Group:bill* or *")
    # Java drops what follows the first asterisk of a name that ends with one.
    if name == "*":
        return Resource(found, "", Pattern.WHOLE_TYPE)
    if name.endswith("*"):
        return Resource(found, name.partition("*")[0], Pattern.PREFIXED)
    return Resource(found, name, Pattern.LITERAL)


def subject_of(text: str) -> str:
    """Return the subject of a user name, or of a text that is one already (``User:alice``)."""
    kind, colon, name = text.partition(":")
    return f"{USER}:{name}" if colon and kind.lower() == USER.lower() else f"{USER}:{text}"


def decide(
    user: UserInfo | None,
    acl: AclInfo | None,
    *,
    actions: Collection[str],
    resource: Resource,
    source_ip: str | None = None,
) -> AclDecision:
    """Return whether a user may do something, and which rule decides.

    Args:
        user: None for one that is unknown.
        acl: the rules of the user, None for none.
        actions: of ``ACTIONS`` but All, or ``ANY``; a rule for any of them is enough.
        resource: what the request names.
        source_ip: where the request comes from; None matches only rules for every address.
    """
    if user is None:
        return AclDecision(False, "no such user")
    if (user.user_status or "").lower() == DISABLED:
        return AclDecision(False, "the user is disabled")
    if (user.user_type or "").lower() == SUPER.lower():
        return AclDecision(True, "a Super user may do everything")
    asked = {action.lower() for action in actions}
    for policy_type in (CUSTOM, DEFAULT):
        matching = [
            entry
            for entry in entries_of(acl, policy_type)
            if _matches(entry, asked=asked, resource=resource, source_ip=source_ip)
        ]
        if matching:
            rule = min(matching, key=_rank)
            is_allowed = (rule.decision or "").lower() == ALLOW.lower()
            return AclDecision(is_allowed, "the narrowest rule decides", rule, policy_type)
    return AclDecision(False, "no rule matches")


def entries_of(acl: AclInfo | None, policy_type: str) -> Iterator[PolicyEntryInfo]:
    """Yield the rules of one type; of several policies of a type Java reads the first."""
    for policy in (acl.policies if acl is not None else None) or ():
        if (policy.policy_type or CUSTOM).lower() == policy_type.lower():
            yield from policy.entries or ()
            return


def is_in_range(address: str, network: str) -> bool:
    """Return whether an address is one that a rule names: the same text, or in the network."""
    if "/" not in network:
        return address == network
    # Java compares the numbers alone, so that 0.0.0.1 is in ::/64.
    block = ip_network(network, strict=False)
    return int(block.network_address) <= int(ip_address(address)) <= int(block.broadcast_address)


def _matches(
    entry: PolicyEntryInfo, *, asked: Set[str], resource: Resource, source_ip: str | None
) -> bool:
    actions = {action.lower() for action in entry.actions or ()}
    if not actions or entry.resource is None:
        return False
    if ANY.lower() not in asked and not actions & (asked | {ALL.lower()}):
        return False
    if not parse_resource(entry.resource).covers(resource):
        return False
    if not entry.source_ips:
        return True
    return source_ip is not None and any(is_in_range(source_ip, one) for one in entry.source_ips)


def _rank(entry: PolicyEntryInfo) -> tuple[int, int, bool]:
    """Return what matching rules are sorted by: the narrowest first, of equals Deny."""
    resource = parse_resource(entry.resource or "*")
    return resource.pattern, -len(resource.name), (entry.decision or "").lower() != DENY.lower()
