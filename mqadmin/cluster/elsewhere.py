"""Other clusters than that of the line: named by a context or by the address of a name server.

--from staging               a context
--from 10.0.0.1:9876         a name server
--from-broker broker-b       one broker there; its first master where none is named
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import click

from mqadmin.cli.decorators import Where, option_group
from mqadmin.cli.types import BROKER, CONTEXT
from mqadmin.cluster.brokers import ServerNode, brokers_and_slaves, masters
from mqadmin.errors import ItemNotFound, Usage
from mqadmin.session.call import Call
from mqadmin.session.contexts import ContextFile


def elsewhere(call: Call, text: str) -> Call:
    """Return the call at another cluster: HOST:PORT, or the name of a context.

    Raises:
        ItemNotFound: it is neither.
    """
    contexts = ContextFile.of(call.console.env).load().contexts
    if text in contexts:
        return replace(call, settings=replace(call.settings, context=text, namesrv=None))
    if ":" not in text:
        raise ItemNotFound(
            f"{text!r} is not a file, a context or an address",
            hint="such as cluster.yaml, HOST:PORT, or a name of `context list`",
        )
    return replace(call, settings=replace(call.settings, namesrv=text))


class CopySource(NamedTuple):
    """Which broker a line copies from, as its options say."""

    cluster: str | None
    broker: str | None


copied_from: Callable[[Any], Any] = option_group(
    "source",
    lambda from_, from_broker: CopySource(from_, from_broker),
    click.option(
        "--from",
        "from_",
        type=CONTEXT,
        metavar="CONTEXT|HOST:PORT",
        help="the cluster to copy from; that of this line if left out",
    ),
    click.option(
        "--from-broker",
        type=BROKER,
        help="the broker to copy from; the first master if left out",
    ),
)


async def source_of(call: Call, source: CopySource) -> tuple[Call, ServerNode]:
    """Return the cluster and the broker that are copied from.

    Raises:
        Usage: the line names neither.
        ItemNotFound: there is no such cluster or broker.
    """
    if source == CopySource(None, None):
        raise Usage("nothing says where to copy from", hint="name --from or --from-broker")
    there = call if source.cluster is None else elsewhere(call, source.cluster)
    nodes = await masters(await there.admin(), Where(broker=source.broker), every=True)
    return there, nodes[0]


async def copy_targets(
    call: Call, where: Where, *, there: Call, origin: ServerNode
) -> list[ServerNode]:
    """Return the brokers that are copied to: those that the line names, without the source.

    Args:
        there, origin: what ``source_of`` returned.

    Raises:
        ItemNotFound: there is no such cluster or broker.
    """
    nodes = await brokers_and_slaves(await call.admin(), where)
    # Behind another name server the same address may be another broker.
    return [node for node in nodes if node.address != origin.address or there is not call]
