"""Live names for the word at the cursor, from a file kept for that.

Requests, when the file is old: GET_BROKER_CLUSTER_INFO, GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
GET_ALL_SUBSCRIPTIONGROUP_CONFIG of each master.
"""

import os
import sys
from contextlib import suppress
from dataclasses import replace
from typing import Final

from mqadmin.cli.types import Kind
from mqadmin.completion.cache import Names, is_fresh, load, path_of, save
from mqadmin.errors import CommandError, describe
from mqadmin.session.call import Call
from mqadmin.session.contexts import ContextFile

FIRST_WAIT_S: Final = 0.5


def live_names(call: Call, kind: Kind, *, refresh: bool = False) -> list[str]:
    """Return the names of a kind; none where there is no server or no answer.

    Args:
        refresh: ask the servers whatever the age of the file.
    """
    try:
        if kind is Kind.CONTEXT:
            return sorted(ContextFile.of(call.console.env).load().contexts)
        return _of_cluster(call, refresh=refresh).get(kind.name.lower(), [])
    except CommandError as error:
        # No address, or a context that is gone: the command that is being typed will say so.
        if call.settings.verbose:
            call.warn(describe(error).line)
        return []


def _of_cluster(call: Call, *, refresh: bool) -> Names:
    target = call.target()
    path = path_of(target.namesrv, call.console.env)
    kept = load(path)
    if kept is None or refresh:
        fetched = _fetch(call, wait_s=None if refresh else FIRST_WAIT_S)
        if fetched:
            save(path, fetched)
        return fetched or kept or {}
    if not is_fresh(path):
        # What is fetched for a file that cannot be written to is of no use.
        with suppress(OSError):
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
    # Names that are fresh need no process.
    import subprocess

    subprocess.Popen(
        [sys.executable, "-m", "mqadmin", "completion", "names", "topic", "--refresh", *context],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, **call.console.env},
    )
