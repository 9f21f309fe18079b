"""Read a manifest from a YAML file, from this call's cluster, or from another one.

    cluster.yaml  -              a file, or standard input
    10.0.0.1:9876  a-context     another cluster, by address or by the name of its context
    nothing                      this call's cluster

Rule: a topic is ordered on a broker that its entry at the name servers names. The broker's own
word is not asked: it follows up to 30 s later.

Requests: GET_BROKER_CLUSTER_INFO, GET_KVLIST_BY_NAMESPACE; on each master GET_ALL_TOPIC_CONFIG,
GET_ALL_SUBSCRIPTIONGROUP_CONFIG, GET_BROKER_CONFIG and, with access control,
GET_BROKER_CLUSTER_ACL_CONFIG.
"""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mqadmin.changes.targets.account import read_acl
from mqadmin.changes.topic_order import ordered_brokers
from mqadmin.cli.decorators import Where
from mqadmin.cluster.brokers import ServerNode, masters
from mqadmin.cluster.elsewhere import elsewhere
from mqadmin.cluster.groups import is_system
from mqadmin.errors import ItemNotFound, ServerRefused, Usage
from mqadmin.manifest.declared import (
    ACCOUNTS,
    GROUPS,
    TOPICS,
    Manifest,
    collapse,
    expand,
    read_document,
)
from mqadmin.output.topic_kinds import kind_of
from mqadmin.session.call import Call

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

STDIN = "-"
DEPTH_MAX: Final = 50
"""Deepest nesting of a document; a manifest has four levels."""
NODES_MAX: Final = 1_000_000
"""Values of a document, those that aliases repeat counted each time."""


@dataclass(frozen=True, slots=True)
class Source:
    """A manifest and its name for people; ``brokers`` are None for a file."""

    name: str
    manifest: Manifest
    brokers: tuple[str, ...] | None


async def of_cluster(admin: "Admin", nodes: list[ServerNode]) -> Manifest:
    """Return every topic and group that a person made, broker by broker."""
    own = {node.broker for node in nodes} | {node.cluster for node in nodes}
    ordered = await ordered_brokers(admin)
    manifest: Manifest = {TOPICS.name: {}, GROUPS.name: {}}
    topics, groups = manifest[TOPICS.name], manifest[GROUPS.name]
    for node in nodes:
        topic_table, group_table = await asyncio.gather(
            admin.topic_configs(node.address), admin.subscription_groups(node.address)
        )
        for name, topic in topic_table.topics.items():
            if kind_of(name, brokers_and_clusters=own) == "normal":
                is_ordered = node.broker in ordered.get(name, ())
                settings = TOPICS.describe(replace(topic, order=is_ordered))
                topics.setdefault(name, {})[node.broker] = settings
        for name, group in group_table.groups.items():
            if not is_system(name):
                groups.setdefault(name, {})[node.broker] = GROUPS.describe(group)
        try:
            accounts = (await read_acl(admin, node.address)).plain_access_configs or []
        except ServerRefused:
            # A broker without access control has no accounts.
            continue
        for account in accounts:
            accounts_by_broker = manifest.setdefault(ACCOUNTS.name, {}).setdefault(
                account.access_key or "", {}
            )
            accounts_by_broker[node.broker] = ACCOUNTS.describe(account)
    return manifest


def of_file(call: Call, path: str) -> Manifest:
    """Return the manifest that a YAML file says.

    Raises:
        Usage: it is not such a document.
        OSError: it cannot be read.
    """
    # Only a document needs the library, which is slow to load.
    import yaml

    text = call.console.text_of(Path(path))
    source = "standard input" if path == STDIN else path
    try:
        document = _load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise Usage(f"{source}: the YAML cannot be read: {error}") from None
    return read_document(document if document is not None else {}, source=source)


def _load(text: str) -> object:
    """Return a document of plain values, whose aliases repeat no more than ``NODES_MAX``.

    Raises:
        yaml.YAMLError: it is not YAML, has a tag such as ``!!python/object``, or is too large.
    """
    import yaml

    class Bounded(yaml.SafeLoader):
        """Counts values as they are composed: what is refused is never made."""

        depth = count = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            sizes: dict[str, int] = self.__dict__.setdefault("sizes", {})
            before = self.count
            anchor = self.peek_event().anchor  # type: ignore[no-untyped-call]
            is_alias = self.check_event(yaml.AliasEvent)
            if is_alias and anchor in self.anchors and anchor not in sizes:
                raise yaml.YAMLError(f"the alias *{anchor} contains itself")
            self.depth += 1
            self.count += sizes.get(anchor, 0) if is_alias else 1
            if self.depth > DEPTH_MAX or self.count > NODES_MAX:
                raise yaml.YAMLError(
                    f"nested deeper than {DEPTH_MAX}, or more than {NODES_MAX} values once "
                    "aliases are expanded"
                )
            node = super().compose_node(parent, index)
            self.depth -= 1
            if anchor is not None and not is_alias:
                sizes[anchor] = self.count - before
            return node

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            # Those that `<<` merges have names of their own, which the mapping may override.
            names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            if len(set(names)) < len(names):
                double = next(name for name in names if names.count(name) > 1)
                line = node.start_mark.line + 1
                raise yaml.YAMLError(f"{double[:40]!r} appears twice in the mapping at line {line}")
            return super().construct_mapping(node, deep)

    return yaml.load(text, Loader=Bounded)


async def source(call: Call, text: str | None, *, cluster: str | None = None) -> Source:
    """Return the manifest of a file or cluster.

    Raises:
        ItemNotFound: it is neither a file nor a cluster.
        Usage: the file is not a document.
    """
    if text is not None and (text == STDIN or Path(text).exists()):
        return Source(text, of_file(call, text), None)
    if text is not None and text.endswith((".yaml", ".yml")):
        raise ItemNotFound(
            f"file {text} not found", hint="`export --help` explains how to write one"
        )
    there = elsewhere(call, text) if text is not None else call
    admin = await there.admin()
    nodes = await masters(admin, Where(cluster=cluster))
    brokers = tuple(node.broker for node in nodes)
    name = text if text is not None else there.target().namesrv
    return Source(name, collapse(await of_cluster(admin, nodes), brokers), brokers)


def align(left: Source, right: Source) -> tuple[Manifest, Manifest]:
    """Return both manifests, a file's spelled out for the brokers of the cluster beside it."""
    return _beside(left, right), _beside(right, left)


def _beside(source: Source, other: Source) -> Manifest:
    if source.brokers is None and other.brokers is not None:
        return collapse(expand(source.manifest, other.brokers), other.brokers)
    return source.manifest
