"""Users and rules of ACL 2.0, which RocketMQ has since 5.3.

    AclInfo             a subject, such as User:alice
      PolicyInfo        Custom, or Default, which counts where no custom rule matches
        PolicyEntryInfo one rule: resource, actions, source addresses, decision

Source: remoting/protocol/body/UserInfo.java, AclInfo.java (5.4.0).
"""

from dataclasses import dataclass, field

from remoting.bodies.base import Body


@dataclass(slots=True, kw_only=True)
class UserInfo(Body):
    """A user; in a change, None leaves a field as it is."""

    username: str | None = None
    password: str | None = field(default=None, repr=False)
    user_type: str | None = None
    """Super, which may do everything, or Normal."""
    user_status: str | None = None
    """enable or disable."""


@dataclass(slots=True, kw_only=True)
class PolicyEntryInfo(Body):
    """One rule."""

    resource: str | None = None
    """``Topic:orders``, ``Group:bill*``, ``Cluster:*``, or ``*`` for everything."""
    actions: list[str] | None = None
    """All, Pub, Sub, Create, Update, Delete, Get or List."""
    source_ips: list[str] | None = None
    """Addresses or networks (CIDR); None or none for everywhere."""
    decision: str | None = None
    """Allow or Deny."""


@dataclass(slots=True, kw_only=True)
class PolicyInfo(Body):
    """The rules of one type; Custom where no type is given."""

    policy_type: str | None = None
    entries: list[PolicyEntryInfo] | None = None


@dataclass(slots=True, kw_only=True)
class AclInfo(Body):
    """The rules of a subject."""

    subject: str | None = None
    policies: list[PolicyInfo] | None = None
