"""Names that completion offers, kept in a file of the user between calls.

    $XDG_CACHE_HOME/mqadmin/names-<name servers>.json
    {"topic": ["orders", ...], "group": [...], ...}

    fresh          answered from the file
    older (30 s)   answered from the file, and a process of its own fetches them for next time
    none           fetched now, for half a second at most

Rule: completion is a convenience: whatever goes wrong here means "no names", silently. Names
of a cluster are nobody else's business: the file is its user's alone.
"""

import hashlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

FRESH_S: Final = 30.0

Names = dict[str, list[str]]


def path_of(namesrv: str, env: Mapping[str, str]) -> Path:
    """Return the file for these name servers."""
    base = env.get("XDG_CACHE_HOME") or os.path.join(env.get("HOME", "."), ".cache")
    key = hashlib.sha256(namesrv.encode()).hexdigest()[:16]
    return Path(base) / "mqadmin" / f"names-{key}.json"


def load(path: Path) -> Names | None:
    """Return the names of a file; None where there is none that can be read."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
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
    """Write the names; a directory that cannot be written to is no error."""
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
