"""``completion names``: live names for the completion scripts, from a file kept for that.

Requests, when the file is old: GET_BROKER_CLUSTER_INFO, GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
GET_ALL_SUBSCRIPTIONGROUP_CONFIG of each master.
"""

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

from mqadmin.call import Call
from mqadmin.completion.cache import Names, is_fresh, load, path_of, save
from mqadmin.contexts import ContextFile
from mqadmin.errors import CommandError, describe
from mqadmin.parameters import argument, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row

FIRST_WAIT_S: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which names."""

    kind: Annotated[
        Literal["topic", "group", "broker", "cluster", "context", "client"],
        argument("names of what"),
    ]
    refresh: Annotated[bool, option("ask the servers whatever the age of the file")] = False


@dataclass(frozen=True, slots=True)
class NameRow(Row):
    """One name."""

    name: str


@command(
    "completion names",
    "list live names for completion",
    examples=(("mqadmin completion names topic -o name", "what Tab offers for a topic"),),
    details="Names up to 30 s old; older ones are fetched for the next time. Never an error.",
    rows=NameRow,
    needs=Needs.NONE,
)
def names_for_completion(call: Call, args: Arguments) -> Outcome:
    """Return the names; none where there is no server or no answer."""
    try:
        if args.kind == "context":
            names = sorted(ContextFile.of(call.console.env).load().contexts)
        else:
            names = _of_cluster(call, args).get(args.kind, [])
    except CommandError as error:
        # No address, or a context that is gone: the command that is being typed will say so.
        if call.settings.verbose:
            call.warn(describe(error).line)
        names = []
    return Outcome(NameRow(name) for name in names)


def _of_cluster(call: Call, args: Arguments) -> Names:
    target = call.target()
    path = path_of(target.namesrv, call.console.env)
    kept = load(path)
    if kept is None or args.refresh:
        fetched = _fetch(call, wait_s=None if args.refresh else FIRST_WAIT_S)
        if fetched:
            save(path, fetched)
        return fetched or kept or {}
    if not is_fresh(path):
        path.touch()
        _refresh_apart(call, target.namesrv)
    return kept


def _fetch(call: Call, *, wait_s: float | None) -> Names:
    """Ask the servers; nothing where they do not answer in time."""
    # Only a file that is old needs the client.
    import asyncio

    from mqadmin.shell.names import fetch
    from mqclient.errors import ClientError

    patient = replace(call, settings=replace(call.settings, timeout=wait_s or 5.0))
    try:
        found = call.workplace.link.run(lambda: asyncio.wait_for(fetch(patient), wait_s))
    except (TimeoutError, ClientError, OSError):
        return {}
    return {kind.name.lower(): names for kind, names in found.by_kind.items()}


def _refresh_apart(call: Call, namesrv: str) -> None:
    """Fetch the names in a process that this one does not wait for."""
    context = ("--context", call.settings.context) if call.settings.context else ("-n", namesrv)
    subprocess.Popen(
        [sys.executable, "-m", "mqadmin", "completion", "names", "topic", "--refresh", *context],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, **call.console.env},
    )
