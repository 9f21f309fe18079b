"""Live names for the word at the cursor, kept in a file of the user between calls.

    $XDG_CACHE_HOME/mqadmin/names-<name servers>.json
    {"topic": ["orders", ...], "group": [...], ...}

    fresh          answered from the file
    older (30 s)   answered from the file, and a process of its own fetches them for next time
    none           fetched now, for half a second at most

Rule: completion is a convenience: whatever goes wrong here means "no names", silently. Names
of a cluster are private: only its user can read the file.

Requests, when the file is old: GET_BROKER_CLUSTER_INFO, GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
GET_ALL_SUBSCRIPTIONGROUP_CONFIG of each master.
"""

import hashlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from mqadmin.child_processes import module_command, module_environment
from mqadmin.cli.types import ValueKind
from mqadmin.errors import CommandError, describe
from mqadmin.session.call import Call
from mqadmin.session.contexts import ContextFile
from storefmt.config.foreign_json import read_json

FRESH_S: Final = 30.0

Names = dict[str, list[str]]


def path_of(namesrv: str, env: Mapping[str, str]) -> Path:
    """Return the file for these name servers."""
    base = env.get("XDG_CACHE_HOME") or os.path.join(env.get("HOME", "."), ".cache")
    key = hashlib.sha256(namesrv.encode()).hexdigest()[:16]
    return Path(base) / "mqadmin" / f"names-{key}.json"


def load(path: Path) -> Names | None:
    """Return the names of a file; None if it cannot be read."""
    try:
        value = read_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(value, dict):
        return None
    return {
        str(kind): [str(name) for name in names]
        for kind, names in value.items()
        if isinstance(names, list)
    }


def is_fresh(path: Path) -> bool:
    """Return whether the names are new enough to need no other look."""
    try:
        age_s = time.time() - path.stat().st_mtime
    except OSError:
        return False
    return 0 <= age_s < FRESH_S


def save(path: Path, names: Names) -> None:
    """Write the names; a directory that cannot be written to is not an error."""
    fresh = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump(names, out, ensure_ascii=False)
        fresh.replace(path)
    except OSError:
        # Without the file the next call asks the servers again, and that is all.
        with suppress(OSError):
            fresh.unlink()


FIRST_WAIT_S: Final = 0.5


def live_names(call: Call, kind: ValueKind, *, refresh: bool = False) -> list[str]:
    """Return the names of a kind; empty if there is no server or no answer.

    Args:
        refresh: ask the servers whatever the age of the file.
    """
    try:
        if kind is ValueKind.CONTEXT:
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

    from mqadmin.shell import names
    from mqclient.errors import ClientError

    patient = replace(call, settings=replace(call.settings, timeout=wait_s or 5.0))

    async def in_time() -> names.Names:
        async with asyncio.timeout(wait_s):
            return await names.fetch(patient)

    try:
        fetched = call.workplace.link.run_coroutine(in_time)
    except (TimeoutError, ClientError, OSError):
        return {}
    return {kind.name.lower(): words for kind, words in fetched.by_kind.items()}


def _refresh_apart(call: Call, namesrv: str) -> None:
    """Fetch the names in a process that this one does not wait for."""
    context = ("--context", call.settings.context) if call.settings.context else ("-n", namesrv)
    # Names that are fresh need no process.
    import subprocess

    subprocess.Popen(
        module_command("mqadmin", "completion", "names", "topic", "--refresh", *context),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=module_environment(call.console.env),
    )
