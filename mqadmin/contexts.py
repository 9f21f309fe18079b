"""Named contexts: addresses and keys in one file of the user, mode 600.

    $XDG_CONFIG_HOME/mqadmin/contexts.json
    {"current": "dev", "contexts": {"dev": {"namesrv": "127.0.0.1:9876"}}}

Rule: the file is written whole to a temporary file that only the user can read, then
renamed; a file that others can read is still read, and is closed with the next write.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from mqadmin.errors import CommandError, NotFound


@dataclass(frozen=True, slots=True)
class Context:
    """One named set of servers.

    Attributes:
        protected: writes are refused unless the context is named on the line.
    """

    name: str
    namesrv: str
    access_key: str | None = None
    secret_key: str | None = None
    protected: bool = False


@dataclass(frozen=True, slots=True)
class Contexts:
    """All contexts and which one is current."""

    current: str | None
    contexts: dict[str, Context]

    def get(self, name: str | None) -> Context | None:
        """Return the context of this name, or the current one, or None where there is none.

        Raises:
            NotFound: ``name`` is given and is no context.
        """
        wanted = name or self.current
        if wanted is None:
            return None
        found = self.contexts.get(wanted)
        if found is None:
            raise NotFound(f"no context {wanted!r}", hint="`context list` shows them")
        return found


@dataclass(frozen=True, slots=True)
class ContextFile:
    """Where the contexts are kept."""

    path: Path

    @classmethod
    def of(cls, env: Mapping[str, str]) -> "ContextFile":
        """Return the file for the user of this environment."""
        base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME", "."), ".config")
        return cls(Path(base) / "mqadmin" / "contexts.json")

    def load(self) -> Contexts:
        """Return what the file says; nothing where there is none.

        Raises:
            CommandError: the file is no such json.
        """
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return Contexts(None, {})
        try:
            return _decode(json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CommandError(
                f"{self.path}: no contexts file ({error})", hint="mend it or move it away"
            ) from None

    def save(self, contexts: Contexts) -> None:
        """Write the file so that only its user can read it."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".tmp")
        fresh.unlink(missing_ok=True)
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump(_encode(contexts), out, indent=2)
            out.write("\n")
        fresh.replace(self.path)


def _decode(value: dict[str, object]) -> Contexts:
    current = value.get("current")
    listed = value["contexts"]
    if not isinstance(listed, dict) or not isinstance(current, (str, type(None))):
        raise TypeError("`contexts` is no object, or `current` no name")
    known = {spot.name for spot in fields(Context)} - {"name"}
    return Contexts(
        current,
        {
            name: Context(name=name, **{key: item[key] for key in item if key in known})
            for name, item in listed.items()
        },
    )


def _encode(contexts: Contexts) -> dict[str, object]:
    shown = {}
    for name, context in sorted(contexts.contexts.items()):
        values = {spot.name: getattr(context, spot.name) for spot in fields(Context)}
        del values["name"]
        shown[name] = {key: value for key, value in values.items() if value not in (None, False)}
    return {"current": contexts.current, "contexts": shown}
