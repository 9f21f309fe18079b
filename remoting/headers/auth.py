"""Requests about the users and rules of ACL 2.0, which RocketMQ has since 5.3.

A *subject* is a user by its type and name, ``User:alice``; its rules are in the body.

Source: remoting/protocol/header/*User*RequestHeader.java, *Acl*RequestHeader.java (5.4.0).
"""

from dataclasses import dataclass

from remoting.header import Header


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateUser(Header):
    """Create the user in the body (request code 3001)."""

    username: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateUser(Header):
    """Change the fields of a user that the body has (request code 3002)."""

    username: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteUser(Header):
    """Delete a user and its rules (request code 3003)."""

    username: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetUser(Header):
    """Return one user in the body, which is empty for an unknown user (request code 3004)."""

    username: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListUsers(Header):
    """Return all users in the body, as a JSON list (request code 3005)."""

    filter: str | None = None
    """A part of the user name; every user when it is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAcl(Header):
    """Add the rules in the body to those of a subject (request code 3006)."""

    subject: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateAcl(Header):
    """Add or replace rules of a subject, resource by resource (request code 3007)."""

    subject: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAcl(Header):
    """Delete the rule of a subject for one resource, or all its rules (request code 3008)."""

    subject: str | None = None
    policy_type: str | None = None
    """Custom, which is the default, or Default."""
    resource: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetAcl(Header):
    """Return the rules of a subject in the body, which is empty for none (request code 3009)."""

    subject: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAcls(Header):
    """Return the rules of all subjects in the body, as a JSON list (request code 3010)."""

    subject_filter: str | None = None
    """A part of the subject."""
    resource_filter: str | None = None
    """A part of the resource."""
