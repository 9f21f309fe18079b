"""``export``: topics, groups and accounts as one YAML document, for `diff` and `apply`.

Requests: see ``mqadmin.declaredfrom``.
"""

from dataclasses import dataclass, field
from typing import Annotated

from mqadmin.call import Call
from mqadmin.declared import ACCOUNTS, GROUPS, TOPICS, Settings
from mqadmin.declaredfrom import source
from mqadmin.parameters import Kind, option
from mqadmin.registry import command
from mqadmin.rows import OMIT, Outcome, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which cluster."""

    cluster: Annotated[str | None, option("this cluster", kind=Kind.CLUSTER)] = None


@dataclass(frozen=True, slots=True)
class Document(Row):
    """Settings by name and broker; ``*`` is every master."""

    topics: dict[str, dict[str, Settings]]
    groups: dict[str, dict[str, Settings]]
    accounts: dict[str, dict[str, Settings]] | None = field(default=None, metadata={OMIT: True})


@command(
    "export",
    "write topics, groups and accounts as a YAML document",
    examples=(
        ("mqadmin export > cluster.yaml", "what `diff` and `apply` read"),
        ("mqadmin export -o json", "the same for a program"),
    ),
    details="Topics and groups that brokers make themselves are left out, and secrets of\n"
    "accounts. It is YAML unless -o says otherwise.",
    rows=Document,
)
async def export(call: Call, args: Arguments) -> Outcome:
    """Return the document.

    Raises:
        NotFound: there is no such cluster, or no broker.
    """
    state = (await source(call, None, cluster=args.cluster)).state
    document = Document(
        state.of(TOPICS.name), state.of(GROUPS.name), state.sections.get(ACCOUNTS.name)
    )
    return Outcome((document,), single=True, format="yaml")
