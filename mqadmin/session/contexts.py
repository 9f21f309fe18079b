"""Named contexts: addresses, keys and defaults in one file of the user, mode 600.

    $XDG_CONFIG_HOME/mqadmin/contexts.json
    {"current": "dev", "contexts": {"dev": {"namesrv": "127.0.0.1:9876"}}}

Rule: the file is written whole to a temporary file that only the user can read, then
renamed. A file that holds a secret key and that others can read is refused, and so is one that
others can change, because it names servers and commands.
"""

import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from mqadmin.errors import CommandError, ItemNotFound
from mqadmin.session.tls_files import TlsFiles
from remoting.toolskeys import TOOLS_FILE, tools_keys

ELSEWHERE: Final = frozenset({"env", "file", "command"})
"""What a secret key begins with that is not in the file itself."""
OTHERS_READ: Final = 0o044
OTHERS_WRITE: Final = 0o022
SECRET_WAIT_S: Final = 60.0
"""How long a command may take to say a key: it may ask for a passphrase."""


@dataclass(frozen=True, slots=True)
class Context:
    """One named set of servers, and the defaults of the lines that use it.

    Attributes:
        secret_key: the key, or where it is: ``env:NAME``, ``file:PATH`` or ``command:LINE``.
        protected: writes are refused unless the context is named on the line.
        address_map: advertised broker address, and the one to connect to instead.
        tls: how connections are secured; None leaves them plain.
        output, timeout_s: used where the line does not say.
    """

    name: str
    namesrv: str
    access_key: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    protected: bool = False
    address_map: tuple[tuple[str, str], ...] = ()
    tls: TlsFiles | None = None
    output: str | None = None
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Contexts:
    """All contexts and which one is current."""

    current: str | None
    contexts: dict[str, Context]

    def context_named(self, name: str | None) -> Context | None:
        """Return the context of this name, or the current one, or None if there is none.

        Raises:
            ItemNotFound: the context ``name`` does not exist.
        """
        context_name = name or self.current
        if context_name is None:
            return None
        context = self.contexts.get(context_name)
        if context is None:
            raise ItemNotFound(
                f"context {context_name!r} not found", hint="`context list` shows them"
            )
        return context


@dataclass(frozen=True, slots=True)
class ContextFile:
    """Where the contexts are kept."""

    path: str

    @classmethod
    def of(cls, env: Mapping[str, str]) -> "ContextFile":
        """Return the file for the user of this environment."""
        base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME", "."), ".config")
        return cls(os.path.join(base, "mqadmin", "contexts.json"))

    def load(self) -> Contexts:
        """Return the content of the file; empty if it does not exist.

        Raises:
            CommandError: the file cannot be read, or is not valid.
        """
        try:
            text, mode = _opened(self.path)
            contexts = _decode(json.loads(text))
            _check_private(
                self.path, mode, holds_key=any(map(_holds_key, contexts.contexts.values()))
            )
            return contexts
        except FileNotFoundError:
            return Contexts(None, {})
        except OSError as error:
            raise CommandError(
                f"{self.path}: {error.strerror}", hint="check its type and permissions"
            ) from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise CommandError(
                f"{self.path}: not a contexts file ({error})", hint="repair it, or move it away"
            ) from None

    def save(self, contexts: Contexts) -> None:
        """Write the file so that only its user can read it."""
        folder = os.path.dirname(self.path)
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        fresh = f"{os.path.splitext(self.path)[0]}.tmp"
        with suppress(FileNotFoundError):
            os.unlink(fresh)
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump(_encode(contexts), out, indent=2)
            out.write("\n")
        os.replace(fresh, self.path)


def secret_of(text: str | None, env: Mapping[str, str]) -> str | None:
    """Return a key that is given itself, or as ``env:NAME``, ``file:PATH`` or ``command:LINE``.

    Raises:
        ItemNotFound: the variable, a readable file, or output of the command is missing.
        CommandError: others can read or change the file.
    """
    if text is None:
        return None
    where, colon, name = text.partition(":")
    if not colon or where not in ELSEWHERE:
        return text
    if where == "command":
        return _told_by(name)
    if where == "env":
        value = env.get(name)
        if value is None:
            raise ItemNotFound(f"the context's secret key is in ${name}, which is not set")
        return value
    try:
        path = os.path.expanduser(name)
        text, mode = _opened(path)
        _check_private(path, mode, holds_key=True)
        return text.strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ItemNotFound(f"the context's secret key is in {name}: {_reason(error)}") from None


@cache
def _told_by(line: str) -> str:
    """Return what a command prints, as a key ring's or a password manager's; asked once."""
    # Most contexts have no such command, and these take longer to load than a request takes.
    import shlex
    import subprocess

    hint = "run it by hand; it has to print the key and nothing else"
    try:
        process = subprocess.run(
            shlex.split(line),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=SECRET_WAIT_S,
            check=False,
            text=True,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ItemNotFound(
            f"the context's secret key comes from {line!r}: {why}", hint=hint
        ) from None
    key = process.stdout.strip()
    if process.returncode or not key:
        raise ItemNotFound(
            f"the context's secret key comes from {line!r}, which ended with "
            f"{process.returncode} and {'a' if key else 'no'} line",
            hint=hint,
        )
    return key


def keys_of_java(env: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return the keys in ``$ROCKETMQ_HOME/conf/tools.yml``, where the Java tool has them.

    Raises:
        ItemNotFound: the file exists but cannot be read.
        CommandError: it has a secret key, and others can read or change it.
    """
    home = env.get("ROCKETMQ_HOME")
    path = os.path.join(home, TOOLS_FILE) if home else ""
    if not os.path.isfile(path):
        return None, None
    try:
        text, mode = _opened(path)
        keys = tools_keys(text)
        _check_private(path, mode, holds_key=keys[1] is not None)
        return keys
    except (OSError, UnicodeDecodeError) as error:
        raise ItemNotFound(
            f"{path}: {_reason(error)}", hint="check the file and its permissions"
        ) from None


def _reason(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    return error.strerror or str(error)


def _opened(path: str) -> tuple[str, int]:
    """Return the text of a file, and its mode as it was when the text was read."""
    with open(path, encoding="utf-8") as file:
        return file.read(), stat.S_IMODE(os.fstat(file.fileno()).st_mode)


def _check_private(path: str, mode: int, *, holds_key: bool) -> None:
    """Raise CommandError if others can change a file, or can read the secret key in it."""
    if mode & OTHERS_WRITE:
        problem = "other users can change it"
    elif holds_key and mode & OTHERS_READ:
        problem = "other users can read the secret key in it"
    else:
        return
    raise CommandError(f"{path} is refused: {problem} (mode {mode:03o})", hint=f"chmod 600 {path}")


def _holds_key(context: Context) -> bool:
    """Tell whether the file itself has the secret key of a context."""
    where, colon, _ = (context.secret_key or "").partition(":")
    return bool(where) and not (colon and where in ELSEWHERE)


def _decode(value: object) -> Contexts:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    current = value.get("current")
    listed = value.get("contexts")
    if not isinstance(listed, dict) or not isinstance(current, (str, type(None))):
        raise TypeError("`contexts` is not an object, or `current` is not a name")
    return Contexts(current, {name: _context(name, item) for name, item in listed.items()})


TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "namesrv": str,
    "access_key": str,
    "secret_key": str,
    "protected": bool,
    "output": str,
    "timeout_s": (int, float),
}
"""What the file says of a context in plain values; null is the same as nothing."""


def _context(name: str, item: object) -> Context:
    if not isinstance(item, dict):
        raise TypeError(f"{name} is not an object")
    plain = {key: item[key] for key in TYPES if item.get(key) is not None}
    for key, value in plain.items():
        if not isinstance(value, TYPES[key]):
            raise TypeError(f"{name}: `{key}` is {value!r}")
    if "namesrv" not in plain:
        raise TypeError(f"{name} has no `namesrv`")
    mapped, tls = item.get("map", {}), item.get("tls")
    if not isinstance(mapped, dict) or not isinstance(tls, (dict, type(None))):
        raise TypeError(f"`map` or `tls` of {name} is not an object")
    pairs = tuple((str(old), str(new)) for old, new in mapped.items())
    files = None if tls is None else TlsFiles(**tls)
    return Context(name=name, address_map=pairs, tls=files, **plain)


def _encode(contexts: Contexts) -> dict[str, object]:
    return {
        "current": contexts.current,
        "contexts": {name: _shown(context) for name, context in sorted(contexts.contexts.items())},
    }


def _shown(context: Context) -> dict[str, object]:
    values = {key: getattr(context, key) for key in TYPES}
    values["map"] = dict(context.address_map) or None
    values["tls"] = context.tls.given() if context.tls is not None else None
    return {key: value for key, value in values.items() if value not in (None, False)}
